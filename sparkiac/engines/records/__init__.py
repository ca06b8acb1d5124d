"""The records of the engines, one file each: `ENGINE` in `llama_cpp.py` is the engine `llama-cpp`."""
