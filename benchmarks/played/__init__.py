"""What an agent is told, held against what happened: `python -m benchmarks.played WORLDS.json`.

A world is a small project with hidden rates of success for each way in each situation. Outcomes are drawn from the rates and learned in natural
words; then new tasks are asked. The answers of a memory (prompt, table, `assess`, `check`, wake-up) are compared with the log and the rates.

Another memory is scored with a few lines: a class with the methods of `memories.Memory`, given to `playing.play_store`. How well a memory does
decides nothing about the log: it follows from the world and the seed.
"""
