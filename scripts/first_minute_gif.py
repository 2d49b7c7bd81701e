"""docs/images/first-minute.gif from the pictures that the editor's test takes (build/editor/first-minute-*.png).

Needs Pillow: `pip install pillow`. A picture is shown for two seconds.
"""

from __future__ import annotations

from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
WIDTH, SHOWN_MS = 900, 2000


def main() -> None:
    """Write the animation."""
    frames = []
    for path in sorted((ROOT / "build" / "editor").glob("first-minute-*.png")):
        picture = Image.open(path).convert("RGB")
        size = (WIDTH, picture.height * WIDTH // picture.width)
        frames.append(picture.resize(size, Image.Resampling.LANCZOS).quantize(64, dither=Image.Dither.NONE))
    if not frames:
        raise SystemExit("no pictures: run `sh scripts/test-editor.sh firstMinute` first")
    out = ROOT / "docs" / "images" / "first-minute.gif"
    frames[0].save(out, save_all=True, append_images=frames[1:], duration=SHOWN_MS, loop=0, optimize=True)
    print(f"{out}: {len(frames)} pictures, {out.stat().st_size // 1024} KiB")


if __name__ == "__main__":
    main()
