"""Run settings, budget, store and checkpoints."""

from pathlib import Path

import pytest

from leantune.checkpoints import Keep
from leantune.cloud.market_settings import MarketSettings
from leantune.jobfile import RunSettings
from leantune.jobfile.settings import CheckpointSettings
from leantune.problem import Budget
from tests.jobfile.texts import FOLDER, check_refused, parsed, refused, text

PRICED = "space:\n  lr: {machines: {a: {vcpus: 1, memory: 1, usd_per_hour: 1}}}"


def test_defaults() -> None:
    job = parsed()
    assert job.run == RunSettings(logs="/project/leantune-runs")
    assert (job.run.on, job.run.time_limit, job.run.grace, job.run.parallel) == ("local", None, 30.0, 1)
    assert job.store == "sqlite:////project/leantune.db"
    assert job.checkpoints == CheckpointSettings(Path("/project/checkpoints"), Keep.BEST)
    assert job.logs == Path("/project/leantune-runs")


def test_everything_said() -> None:
    run = (
        "run: {on: ray, spot: true, parallel: 4, time_limit: 20 min, grace: 0 s, deterministic: true, lease: 2 min, "
        "logs: ../runs, max_failures: 2}"
    )
    assert parsed(run=run).run == RunSettings("ray", True, "own", 4, 1200.0, 0.0, True, 120.0, "/runs", 2)
    assert parsed(run="run: {}").run == parsed().run


@pytest.mark.parametrize(
    ("run", "what", "key", "hint"),
    [
        ("local", "'local' where a mapping is expected", "", "run: {on: local"),
        ("", "nothing where a mapping is expected", "", "run: {on: local"),
        (
            "{on: locl}",
            "there is no place 'locl' to run",
            ".on",
            "Did you mean 'local'? There are local, simcloud, aws, ray",
        ),
        ("{on: true}", "true where a text is expected", ".on", "on: local"),
        ("{on: local, spot: true}", "spot is about rented machines, and on is local", ".spot", "on: simcloud"),
        ("{market: {}}", "market is about simulated machines, and on is local", ".market", "on: simcloud"),
        ("{on: aws, market: {}}", "market is about simulated machines, and on is aws", ".market", "on: simcloud"),
        ("{spot: true, market: fast}", "'fast' where a mapping is expected", ".market", "market: {prices: generated"),
        ("{spot: true, market: {sped: 9}}", "unknown key 'sped'", ".market.sped", "Did you mean 'speed'?"),
        ("{spot: true, market: {speed: 0}}", "0 is not a speed", ".market.speed", "speed: 60"),
        ("{spot: true, market: {speed: fast}}", "'fast' where a number is expected", ".market.speed", "speed: 60"),
        ("{spot: true, market: {regime: calm}}", "there is no regime 'calm'", ".market.regime", "volatile, smooth"),
        ("{spot: true, market: {seed: -1}}", "-1 is less than 0", ".market.seed", "seed: 0"),
        (
            "{spot: true, market: {prices: p.csv, regime: smooth}}",
            "regime is about generated prices",
            ".market.regime",
            "prices: generated",
        ),
        ("{spot: 1, on: aws}", "1 where true or false is expected", ".spot", "true or false"),
        ("{time_limt: 5 s}", "unknown key 'time_limt'", ".time_limt", "Did you mean 'time_limit'?"),
        ("{time_limit: 20}", "'20' has no unit", ".time_limit", "such as '10 min'"),
        ("{time_limit: -3 min}", "-3 min is not a valid time", ".time_limit", "such as 20 min"),
        ("{time_limit: 0 s}", "0 s is not a valid time", ".time_limit", "such as 20 min"),
        ("{lease: 1e300 s}", "'1e300 s' is too large a number: at most 36500 days", ".lease", "such as '10 min'"),
        ("{grace: 36501 days}", "'36501 days' is too large a number: at most 36500 days", ".grace", "such as '10 min'"),
        (
            "{time_limit: 1e400 s}",
            "'1e400 s' is too large a number: at most 36500 days",
            ".time_limit",
            "such as '10 min'",
        ),
        ("{time_limit: [1]}", "a list where an amount of time is expected", ".time_limit", "such as 20 min"),
        ("{grace: 5 parsec}", "unknown unit 'parsec'", ".grace", "ms, s, min, h"),
        ("{lease: 0 s}", "0 s is not a valid time", ".lease", "such as 60 s"),
        ("{parallel: 0}", "0 is less than 1", ".parallel", "at least 1"),
        ("{parallel: 2.5}", "2.5 where a whole number is expected", ".parallel", "at least 1"),
        ("{max_failures: many}", "'many' where a whole number is expected", ".max_failures", "at least 1"),
        ("{deterministic: yes}", "'yes' where true or false is expected", ".deterministic", "true or false"),
        ("{logs: }", "nothing where a text is expected", ".logs", "Name a folder"),
        ("{logs: ' '}", "the name is empty", ".logs", "Name a folder"),
    ],
)
def test_a_bad_run_is_refused(run: str, what: str, key: str, hint: str) -> None:
    check_refused(text(run=f"run: {run}"), what, f"line 7, run{key}", hint)


def test_spot_alone_means_the_simulated_cloud() -> None:
    run = parsed(run="run: {spot: true}").run
    assert (run.on, run.spot, run.market) == ("simcloud", True, MarketSettings())
    assert MarketSettings() == MarketSettings("generated", "volatile", 0, 60.0)
    assert parsed(run="run: {on: aws, spot: true}").run.market is None


def test_a_market_as_it_is_described() -> None:
    generated = parsed(run="run: {on: simcloud, market: {prices: generated, regime: smooth, seed: 3, speed: 900}}").run
    assert (generated.spot, generated.market) == (False, MarketSettings("generated", "smooth", 3, 900.0))
    assert parsed(run="run: {spot: true, market: {prices: old/prices.csv}}").run.market == MarketSettings(
        "/project/old/prices.csv"
    )


@pytest.mark.parametrize(
    ("budget", "meant"),
    [
        ("{trials: 3}", Budget(trials=3)),
        ("{usd: 5, hours: 1.5}", Budget(usd=5.0, hours=1.5)),
        ("{usd: $5.50}", Budget(usd=5.5)),
        ("{usd: 5 USD}", Budget(usd=5.0)),
        ("\n  trials: 3\n  hours: 8", Budget(trials=3, hours=8.0)),
    ],
)
def test_budgets(budget: str, meant: Budget) -> None:
    assert parsed(space=PRICED, budget=f"budget: {budget}", train="train: p").problem.budget == meant


@pytest.mark.parametrize(
    ("budget", "what", "key", "hint"),
    [
        ("{}", "the budget has no limit", "", "at least one limit"),
        ("", "nothing where a mapping is expected", "", "at least one limit"),
        ("5", "5 where a mapping is expected", "", "at least one limit"),
        ("{dollars: 5}", "unknown key 'dollars'", ".dollars", "Known keys: usd, trials, hours"),
        ("{trial: 5}", "unknown key 'trial'", ".trial", "Did you mean 'trials'?"),
        ("{usd: -5}", "the budget is -5", ".usd", "above 0"),
        ("{usd: 0}", "the budget is 0", ".usd", "above 0"),
        ("{usd: five}", "'five' is not an amount of money", ".usd", "$0.10"),
        ("{usd: 1e999}", "1e999 is too large a number", ".usd", "1e308"),
        ("{usd: 5 EUR}", "unknown unit 'EUR'", ".usd", "USD"),
        ("{trials: 0}", "the budget is 0", ".trials", "above 0"),
        ("{trials: 1.5}", "1.5 where a whole number is expected", ".trials", "trials: 44"),
        ("{trials: true}", "true where a whole number is expected", ".trials", "trials: 44"),
        ("{hours: 8 h}", "'8 h' where a number is expected", ".hours", "hours: 8"),
        ("{hours: -1}", "the budget is -1", ".hours", "above 0"),
    ],
)
def test_a_bad_budget_is_refused(budget: str, what: str, key: str, hint: str) -> None:
    check_refused(text(budget=f"budget: {budget}"), what, f"line 6, budget{key}", hint)


def test_a_job_without_a_budget_is_refused_where_it_would_never_end() -> None:
    hint = "budget: {usd: 5, trials: 44, hours: 8}"
    check_refused(text(budget=""), "there is no budget", "line 1", hint)  # one share: eic
    shares = "fractions: [1/4, 1]"
    assert parsed(budget="", x=shares).problem.regret_to_end == 0.01
    never = text(budget="", x=f"{shares}\nstop: never")
    check_refused(never, "the study would never end, as there is no budget", "line 7, stop", hint)
    check_refused(text(budget="", x=f"{shares}\nstrategy: eic"), "there is no budget", "line 1", hint)


def test_when_to_stop() -> None:
    shares = "fractions: [1/4, 1]"
    assert parsed(x=shares).problem.regret_to_end is None
    assert parsed(x=f"{shares}\nstop: {{regret: 0.02}}").problem.regret_to_end == 0.02
    assert parsed(x=f"{shares}\nstop: never").problem.regret_to_end is None


@pytest.mark.parametrize(
    ("stop", "what", "key"),
    [
        ("soon", "'soon' where an end of the study is expected", ""),
        ("0.01", "0.01 where an end of the study is expected", ""),
        ("[0.01]", "a list where an end of the study is expected", ""),
        ("", "nothing where an end of the study is expected", ""),
        ("{}", "the regret is missing", ""),
        ("{regret: 0}", "the regret is 0", ".regret"),
        ("{regret: 1.5}", "the regret is 1.5", ".regret"),
        ("{regret: nan}", "'nan' where a number is expected", ".regret"),
        ("{gain: 0.1}", "unknown key 'gain'", ".gain"),
    ],
)
def test_a_bad_stop_is_refused(stop: str, what: str, key: str) -> None:
    check_refused(text(x=f"fractions: [1/4, 1]\nstop: {stop}"), what, f"line 8, stop{key}", "regret")


def test_a_stop_that_nobody_would_heed_is_refused() -> None:
    asked = text(x="stop: {regret: 0.01}")
    check_refused(asked, "eic cannot say what going on would bring", "line 7, stop", "choose lean")


def test_runs_are_repeated_where_the_program_takes_a_seed() -> None:
    shares, train = "fractions: [1/4, 1]", "train: p --lr {lr} --seed {seed}"
    assert parsed(x=shares).problem.repeats == 1
    assert parsed(x=shares, train=train).problem.repeats == 3
    assert parsed(x=f"{shares}\nrepeats: never", train=train).problem.repeats == 1
    assert parsed(x=f"{shares}\nrepeats: 5").problem.repeats == 5  # a program that draws its own
    assert parsed(x=f"{shares}\nstrategy: random", train=train).problem.repeats == 1


@pytest.mark.parametrize("repeats", ["0", "often", "1.5", "{runs: 3}"])
def test_bad_repeats_are_refused(repeats: str) -> None:
    error = refused(text(x=f"fractions: [1/4, 1]\nrepeats: {repeats}"))
    assert "line 8, repeats" in error.where
    assert "repeats: 3, or repeats: never" in error.hint


def test_repeats_that_nobody_would_make_are_refused() -> None:
    asked = text(x="repeats: 3")
    check_refused(asked, "only lean runs a configuration again, and only for a goal on all data", "line 7, repeats", "")


@pytest.mark.parametrize(
    ("store", "url"),
    [
        ("sqlite:///leantune.db", "sqlite:////project/leantune.db"),
        ("sqlite:///./a/../leantune.db", "sqlite:////project/leantune.db"),
        ("sqlite:////data/x.db", "sqlite:////data/x.db"),
        ("sqlite:///what?/x.db?", "sqlite:////project/what?/x.db?"),
        ("postgresql://user@host/database", "postgresql://user@host/database"),
        (
            "postgresql+psycopg://user:@host:5432/d?sslmode=require",
            "postgresql+psycopg://user:@host:5432/d?sslmode=require",
        ),
    ],
)
def test_stores(store: str, url: str) -> None:
    assert parsed(store=f"store: {store}").store == url


@pytest.mark.parametrize(
    ("store", "what", "hint"),
    [
        ("leantune.db", "'leantune.db' is not a store", "Did you mean sqlite:///leantune.db?"),
        ("mysql://x/y", "'mysql://x/y' is not a store", "postgresql://user@host/database"),
        ("''", "'' is not a store", "Write sqlite:///leantune.db"),
        ("sqlite://", "'sqlite://' names no file, so that the study would be lost", "sqlite:///leantune.db"),
        ("sqlite:///", "'sqlite:///' names no file, so that the study would be lost", "sqlite:///leantune.db"),
        ("'sqlite:///:memory:'", "'sqlite:///:memory:' names no file, so that the study would be lost", "sqlite"),
        ("5", "5 where a text is expected", "sqlite:///leantune.db"),
        ("'postgresql://[u'", "this is not a URL", "postgresql://user@host"),
        ("postgresql://u:secret@h/d", "there is a password in the URL", "PGPASSWORD"),
        ("postgresql://u@h/d?password=secret", "there is a password in the URL", "PGPASSWORD"),
        ("postgresql://u@h/d?sslpassword=secret", "there is a password in the URL", "PGPASSWORD"),
        ("postgresql://u:sec/ret@h/d", "there is a password in the URL", "PGPASSWORD"),
        ("'postgresql://u:sec?r#et@h/d'", "there is a password in the URL", "PGPASSWORD"),
        ("postgresql://u:sec@ret@h/d", "there is a password in the URL", "PGPASSWORD"),
        ("postgresql://u:@secret@h/d", "there is a password in the URL", "PGPASSWORD"),
        ("mysql://u:secret@h/d", "'mysql://u:***@h/d' is not a store", "postgresql://user@host/database"),
        ("'mysql://u:sec ret@se/c@h/d'", "'mysql://u:***@h/d' is not a store", "postgresql://user@host/database"),
        ("'sqlite://u:secret@h/d'", "'sqlite://u:***@h/d' names no file, so that the study would be lost", "sqlite"),
    ],
)
def test_a_bad_store_is_refused(store: str, what: str, hint: str) -> None:
    check_refused(text(store=f"store: {store}"), what, "line 7, store", hint)


@pytest.mark.parametrize(
    ("checkpoints", "folder"),
    [
        ("./checkpoints", FOLDER / "checkpoints"),
        ("checkpoints/", FOLDER / "checkpoints"),
        ("/data/x", Path("/data/x")),
        ("file:///data/a%20b", Path("/data/a b")),
        ("~/x", Path.home() / "x"),
        ("~no-such-user/x", FOLDER / "~no-such-user/x"),
    ],
)
def test_checkpoint_folders(checkpoints: str, folder: Path) -> None:
    assert parsed(checkpoints=f"checkpoints: {checkpoints}").checkpoints.at == folder


def test_whose_checkpoints_are_kept() -> None:
    for keep in Keep:
        settings = parsed(checkpoints=f"checkpoints: {{at: ./x, keep: {keep}}}").checkpoints
        assert settings == CheckpointSettings(FOLDER / "x", keep)
    assert parsed(checkpoints="checkpoints: {keep: all}").checkpoints.at == FOLDER / "checkpoints"
    assert parsed(checkpoints="checkpoints: {at: ./x}").checkpoints.keep is Keep.BEST


@pytest.mark.parametrize(
    ("line", "what", "where", "hint"),
    [
        ("{keep: some}", "what is kept is not 'some'", "checkpoints.keep", "best, all, none"),
        (
            "{keep: bst}",
            "what is kept is not 'bst'",
            "checkpoints.keep",
            "Did you mean 'best'? There are best, all, none",
        ),
        ("{keep: 3}", "3 where a text is expected", "checkpoints.keep", "keep: best"),
        ("{at: ''}", "the name is empty", "checkpoints.at", "Name a folder"),
        ("{where: x}", "unknown key 'where'", "checkpoints.where", "at, keep"),
        ("[x]", "a list where a text is expected", "checkpoints", "./checkpoints"),
    ],
)
def test_bad_checkpoint_settings_are_refused(line: str, what: str, where: str, hint: str) -> None:
    error = refused(text(checkpoints=f"checkpoints: {line}"))
    assert (error.what, error.where) == (what, f"job.yaml, line 7, {where}")
    assert hint in error.hint


@pytest.mark.parametrize(
    ("checkpoints", "what", "hint"),
    [
        ("s3://bucket/x", "checkpoints cannot be kept at s3:// yet", "later version"),
        ("file://host/x", "'file://host/x' is not a folder of this machine", "./checkpoints"),
        ("''", "the name is empty", "Name a folder"),
        ("7", "7 where a text is expected", "./checkpoints"),
    ],
)
def test_bad_checkpoints_are_refused(checkpoints: str, what: str, hint: str) -> None:
    check_refused(text(checkpoints=f"checkpoints: {checkpoints}"), what, "line 7, checkpoints", hint)


def test_a_file_is_no_folder_of_checkpoints(tmp_path: Path) -> None:
    (tmp_path / "model.bin").touch()
    for line in (f"{tmp_path}/model.bin", f"{{at: {tmp_path}/model.bin, keep: all}}"):
        error = refused(text(checkpoints=f"checkpoints: {line}"))
        assert "model.bin' is a file" in error.what and "line 7, checkpoints" in error.where


def test_variables_that_programs_keep() -> None:
    assert parsed().run.environment.keep == ()
    job = parsed(run="run: {environment: {keep: [PGHOST, PGPASSWORD, PGHOST]}}")
    assert job.run.environment.keep == ("PGHOST", "PGPASSWORD")
    assert parsed(run="run: {environment: {}}").run == parsed().run


@pytest.mark.parametrize(
    ("environment", "what", "key", "hint"),
    [
        (
            "{keep: [HF_TOKEN]}",
            "'HF_TOKEN' is not taken from programs",
            ".keep item 1",
            "all variables but the store's, PG*",
        ),
        ("{keep: PGHOST}", "'PGHOST' where a list is expected", ".keep", "keep: [PGHOST]"),
        ("{drop: [HOME]}", "unknown key 'drop'", ".drop", "Known keys: keep"),
        ("[PGHOST]", "a list where a mapping is expected", "", "keep: [PGHOST]"),
    ],
)
def test_a_bad_environment_is_refused(environment: str, what: str, key: str, hint: str) -> None:
    check_refused(text(run=f"run: {{environment: {environment}}}"), what, f"line 7, run.environment{key}", hint)
