"""The components that heuristics are assembled from: one module per slot or search, kernels next to their dataclasses.

All modules of this folder are imported here, so that a component in a new module is found.
"""

from importlib import import_module
from pkgutil import iter_modules

from robustforge.components.closing_attack import ClosingAttack
from robustforge.components.coordinate_search import CoordinateSearch
from robustforge.components.descent_directions import DescentDirections
from robustforge.components.descent_search import DescentSearch
from robustforge.components.emulator_search import EmulatorSearch
from robustforge.components.evolution_strategy import EvolutionStrategy
from robustforge.components.final_selection import Final, FinalistSelection, NoSelection
from robustforge.components.gradient_search import GradientSearch
from robustforge.components.inner_metaheuristics import InnerGa, InnerPso
from robustforge.components.inner_search import (
    Inner,
    InnerForm,
    NoInnerSearch,
    RandomSampling,
    SurfacePoint,
    SurfaceSampling,
)
from robustforge.components.leh_search import LehSearch
from robustforge.components.movement import (
    Capability,
    DescentMovement,
    FullMovement,
    Movement,
    PlainMovement,
    RelocatingMovement,
)
from robustforge.components.mutation import GaussianMutation, Mutation, NoMutation, UniformMutation
from robustforge.components.network import Clan, Cluster, Focal, Global, Hierarchical, Network, Ring, VonNeumann
from robustforge.components.outer import Outer
from robustforge.components.recommendation import Recommendation, RecommendAverage, RecommendBest, RecommendMean
from robustforge.components.regression_search import RegressionSearch
from robustforge.components.relocation import LehRelocation, RandomRelocation, Relocation
from robustforge.components.restart import FarRestart, NoRestart, RandomRestart, Restart
from robustforge.components.separability import AdditivityTest, NoTest, Separability
from robustforge.components.swarm import Swarm
from robustforge.components.velocity import Baseline, Constriction, Inertia
from robustforge.components.velocity_clamp import Clamp, NoClamp, RangeClamp

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "AdditivityTest",
    "Baseline",
    "Capability",
    "Clamp",
    "Clan",
    "ClosingAttack",
    "Cluster",
    "Constriction",
    "CoordinateSearch",
    "DescentDirections",
    "DescentMovement",
    "DescentSearch",
    "EmulatorSearch",
    "EvolutionStrategy",
    "FarRestart",
    "Final",
    "FinalistSelection",
    "Focal",
    "FullMovement",
    "GaussianMutation",
    "Global",
    "GradientSearch",
    "Hierarchical",
    "Inertia",
    "Inner",
    "InnerForm",
    "InnerGa",
    "InnerPso",
    "LehRelocation",
    "LehSearch",
    "Movement",
    "Mutation",
    "Network",
    "NoClamp",
    "NoInnerSearch",
    "NoMutation",
    "NoRestart",
    "NoSelection",
    "NoTest",
    "Outer",
    "PlainMovement",
    "RandomRelocation",
    "RandomRestart",
    "RandomSampling",
    "RangeClamp",
    "RecommendAverage",
    "RecommendBest",
    "RecommendMean",
    "Recommendation",
    "RegressionSearch",
    "RelocatingMovement",
    "Relocation",
    "Restart",
    "Ring",
    "Separability",
    "SurfacePoint",
    "SurfaceSampling",
    "Swarm",
    "UniformMutation",
    "VonNeumann",
]
