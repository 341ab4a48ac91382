"""What the protocol's values and errors say; its promises are in testing/provider_contract, bound in test_simcloud."""

import pytest

from leantune.clock import SimulatedClock
from leantune.cloud.billing import AWS
from leantune.cloud.feeds import MarketFeed
from leantune.cloud.markets import Market
from leantune.cloud.provider import Foreseeing, Provider
from leantune.cloud.simcloud import SimCloud
from leantune.errors import LaunchRefused, LeanTuneError, MachineGone, ProviderError, UnknownMachine
from leantune.space import Machine


def test_the_simulated_cloud_is_a_provider_that_knows_the_future() -> None:
    fixed = MarketFeed(Machine("small", 1, 1, 0.1), Market("small", "z"), None, on_demand=True)
    cloud = SimCloud([fixed], AWS, SimulatedClock())
    assert isinstance(cloud, Provider)
    assert isinstance(cloud, Foreseeing)
    assert not isinstance(SimulatedClock(), Provider)


@pytest.mark.parametrize("kind", [LaunchRefused, MachineGone, UnknownMachine])
def test_errors_are_of_one_tree(kind: type[ProviderError]) -> None:
    assert issubclass(kind, ProviderError)
    assert issubclass(kind, LeanTuneError)
    assert str(kind("no machine", where="r3.large/us-east-1c", hint="Wait")) == "no machine (r3.large/us-east-1c). Wait"
