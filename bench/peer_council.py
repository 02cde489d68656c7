"""One peer of rebut, llm-council-core, on a model server of this machine. Runs in an environment of its own.

    python peer_council.py COUNT

Holds COUNT councils of three models at once and prints a line of JSON: seconds, seconds of processor time, peak memory.
The configuration comes by environment variables.
"""

import asyncio
import json
import resource
import sys
import time
from importlib.metadata import version

QUESTION = "Should the shop keep user sessions in Redis or in PostgreSQL?"


async def main(count: int) -> None:
    from llm_council.council import run_full_council

    await run_full_council(QUESTION, bypass_cache=True)  # imports and first connections are not what is measured
    began, cpu = time.monotonic(), time.process_time()
    done = await asyncio.gather(*(run_full_council(f"{QUESTION} ({n})", bypass_cache=True) for n in range(count)))
    took = {"wall": time.monotonic() - began, "cpu": time.process_time() - cpu}
    answers = [stage for stage, *_ in done]
    assert all(len(stage) == 3 for stage in answers), "each council has three first answers"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({**took, "peak_mb": peak, "version": version("llm-council-core")}))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
