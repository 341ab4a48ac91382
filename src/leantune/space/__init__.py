"""Parameters, machines and clusters, and the space of configurations they span."""

from leantune.space.base import Parameter, Value, when
from leantune.space.clusters import Cluster, Machine, machine
from leantune.space.configurations import Configuration, Configurations
from leantune.space.numeric import Float, Integer, integer, linear, log
from leantune.space.options import Boolean, Choice, Clusters, Ordinal, boolean, choice, ordinal
from leantune.space.space import Predicate, Space

__all__ = [
    "Boolean",
    "Choice",
    "Cluster",
    "Clusters",
    "Configuration",
    "Configurations",
    "Float",
    "Integer",
    "Machine",
    "Ordinal",
    "Parameter",
    "Predicate",
    "Space",
    "Value",
    "boolean",
    "choice",
    "integer",
    "linear",
    "log",
    "machine",
    "ordinal",
    "when",
]
