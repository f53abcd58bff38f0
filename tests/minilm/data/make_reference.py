"""Writes reference.npy: the vectors that the original model gives to texts.jsonl. See README.md."""

import argparse
import json
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

HERE = Path(__file__).parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="folder of the original all-MiniLM-L6-v2 (model.safetensors and its configuration)")
    model = SentenceTransformer(parser.parse_args().model, device="cpu")
    lines = (HERE / "texts.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines]
    vectors = model.encode(texts, batch_size=1, normalize_embeddings=True)
    np.save(HERE / "reference.npy", np.asarray(vectors, np.float16))


if __name__ == "__main__":
    main()
