import time, harness
import numpy as np
from dataclasses import dataclass
@dataclass(frozen=True)
class Mine(harness.Solver):
    name = "smo"
    solves = (harness.CSVC,)
    def iterates(self, problem, rng):
        yield harness.Iterate(dual_coef=np.zeros(problem.n), done=True)
t=time.time(); harness.compare("smo", "twonorm[n=60,n_test=10]", quiet=True); print("first", time.time()-t)
t=time.time(); harness.compare("smo", "twonorm[n=60,n_test=10]", quiet=True); print("again", time.time()-t)
from harness.registry import load_registry
t=time.time(); load_registry(); print("registry", time.time()-t)
def trial(*a, **k):
    try: print(harness.compare(*a, quiet=True, **k))
    except harness.HarnessError as e: print(type(e).__name__, e)
trial(Mine, "twonorm[n=60,n_test=10]")
class NotFrozen(harness.Solver):
    name="nf"
trial(NotFrozen, "twonorm[n=60,n_test=10]")
trial("smo", (np.full((10,2), np.nan), [1,2]*5))
trial("smo", (np.ones((10,2)), None))
trial("smo", (np.ones((10,2,2)), [1,2]*5))
trial("smo", [1,2,3])
trial("smo", {"x": "digits"})
trial("smo", "digits", C="1,2", gamma=None, metrics="f1,foo")
trial("smo", "digits", formulation="c-svcc")
trial("smo", "digits", time_limit=-1)
trial("smo", "digits", path="C=1..x")
import pandas as pd
trial("smo", pd.DataFrame({"a":[1,2,3,4],"b":["x","y","z","x"],"label":[0,1,0,1]}))
trial("smo", harness.data(pd.DataFrame({"a":[1,2,3,4],"b":["x","y","z","x"],"label":[0,1,0,1]}), label="lab"))
trial("smo", pd.DataFrame({"a":[1,"x",3,4],"label":[0,1,0,1]}))
trial(lambda: 3, "digits")
trial("smo", np.ones((3,3)))
