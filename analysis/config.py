"""`hipscope.toml`: every setting of a project, checked when it is read.

Takes a directory, gives a `Config`. A missing file means all defaults. The description of each field is the text
that `docs/configuration.md` shows, so there is one place to keep right.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationError,
    field_validator,
    model_validator,
)

from hipscope.analysis.errors import UsageError
from hipscope.analysis.settings_places import mistake_place
from hipscope.emulator.devices import device_table

CONFIG_FILE = "hipscope.toml"
FORMULA_GROUP = "hipscope.formulas"  # the entry points by which packages bring formulas


def _absolute(path: Path) -> Path:
    if not path.is_absolute() or path == Path("/"):
        raise ValueError("not an absolute path below /")
    return path


Positive = Annotated[float, Field(gt=0)]
NotNegative = Annotated[float, Field(ge=0)]
Count = Annotated[int, Field(ge=1)]
Size = Annotated[int, Field(ge=0)]
AbsolutePath = Annotated[Path, AfterValidator(_absolute)]
FormulaName = Literal[
    "bankConflict",
    "memoryAccess",
    "atomicContention",
    "registerPressure",
    "branchDivergence",
    "memoryLocality",
    "latencyHiding",
    "precision",
    "launchConfig",
    "launchOverhead",
    "loadImbalance",
    "fences",
    "memoryKind",
    "spinning",
    "narrowAccess",
    "doubleDivision",
    "diagnoseOnly",
]
PromptSource = Literal["roofline", "stalls", "counters", "isa", "importance"]


class _Section(BaseModel):
    """Immutable; a key that does not exist is an error, because a misspelt setting must not be ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ToolchainConfig(_Section):
    """Which compiler to use, when the one that hipscope finds is not the right one."""

    rocm: str | None = Field(None, description="Directory of a ROCm installation, like `/opt/rocm-6.4.0`.")
    clang: str | None = Field(None, description="Path of a `clang++` (or `amdclang++`) that compiles HIP.")
    device_libs: str | None = Field(
        None, description="Directory of the device bitcode libraries (`ockl.bc`, `ocml.bc`, ...)."
    )
    include: list[str] = Field(default_factory=list, description="Directories that hold `hip/hip_runtime.h`.")


class EmulatorConfig(_Section):
    """The emulator: how much of the program it profiles."""

    time_budget_s: Positive = Field(
        20.0,
        description="Seconds of profiling. Launches after that run without it, and the profile is marked partial.",
    )
    profile_launches: Count = Field(
        4,
        description=(
            "How many launches of each kernel and launch shape are profiled, and as many again with other scalar "
            "arguments or other work; the rest run plain and are estimated by the instructions that they execute."
        ),
    )
    threads: Size = Field(0, description="CPU threads; 0 uses all cores.")
    keep_going: bool = Field(
        False,
        description=(
            "An access out of bounds does not stop its kernel: it is told, its loads give NaN, its stores are dropped, "
            "and the profile is marked partial."
        ),
    )


class AccordoConfig(_Section):
    """The proof that a rewrite does the same: what is recorded, and how long a replay may take."""

    max_dispatches_per_shape: Count = Field(
        1,
        description=(
            "How many launches of each launch shape, and of each way in which its pointers share memory, are recorded "
            "and replayed, per kernel."
        ),
    )
    max_variants: Size = Field(
        8,
        description=(
            "How many further launches of a kernel, which differ from those in their arguments alone (such as the "
            "shift of a radix pass), are recorded and replayed. Half of them are the first ones, the others late ones. "
            "Of short launches up to 48 are."
        ),
    )
    max_bytes: Count | None = Field(
        None,
        description=(
            "Bytes of device memory that one recorded launch may hold; left out, an eighth of the free memory or disk, "
            "whichever is less, from 512 MiB to 4 GiB. Where more is live, only what the launch uses is recorded: of "
            "each allocation the part from the first to the last page that it touches."
        ),
    )
    replay_timeout_s: Positive | None = Field(
        None,
        description=(
            "Seconds that one replay may take. Left out: 60, or three times what building and running the program "
            "took, if that is more."
        ),
    )
    require: Literal["tried", "all"] = Field(
        "tried",
        description=(
            'What a proof must have varied. `"all"`: each buffer, number, variable and side of the launch that the '
            "kernel reads, and more than 65,535 work-items; what was never varied makes a rewrite not proved. "
            '`"tried"`: that is named in the verdict.'
        ),
    )
    tolerances: dict[str, NotNegative | tuple[NotNegative, NotNegative]] = Field(
        default_factory=dict,
        description=(
            "By name of a kernel's parameter: the relative difference that a rewrite may make to its floats, or "
            "relative and absolute, such as `{ out = 1e-4, sums = [1e-3, 1e-6] }`. Wins over `tolerance`."
        ),
    )


EditKind = Literal["kernel", "launch"]
_ALL_EDITS: list[EditKind] = ["kernel", "launch"]


class OptimizeConfig(_Section):
    """What a rewrite must achieve, and who proposes it."""

    rewriter: Literal["recipes", "llm", "both"] = Field(
        "recipes", description="The source of rewrites: built-in recipes, a language model, or both in turn."
    )
    edits: list[EditKind] = Field(
        default_factory=_ALL_EDITS.copy,
        description=(
            "What may be edited: `kernel`, the code of kernels; `launch`, the numbers in host code that grids and "
            "workgroups come from. Left out: both."
        ),
    )
    min_speedup: Annotated[float, Field(ge=1.0)] = Field(
        1.03, description="A rewrite is offered only if its kernel is at least this many times as fast."
    )
    test_command: str | None = Field(
        None,
        description=(
            "Shell command that tests the program, such as `./test.sh`. A rewrite that passed everything else is put "
            "into a copy of the project, and the command is run there without network; it must leave with 0. "
            "`HIPSCOPE_PROGRAM` names the rebuilt program."
        ),
    )
    time_limit_s: Positive | None = Field(
        None,
        description=(
            "Seconds after which `optimize` ends its search with the best verified rewrite so far. Left out: it goes "
            "on until all was tried."
        ),
    )
    max_attempts: Count = Field(8, description="How many candidates are tried before hipscope gives up.")
    prepare: bool = Field(
        True,
        description=(
            "In an editor, after a profile with findings: record the launches and replay the kernels on all that a "
            "rewrite is tried on, in the background, so that a rewrite is verified sooner. Kept in the cache, at most "
            "1 GiB for each of the last three programs."
        ),
    )
    fast_math: bool = Field(
        False,
        description=(
            "Also propose the device's fast approximations (`__expf`, `__builtin_amdgcn_rcpf` for division, ...). They "
            "are less precise: results must still agree within the tolerance."
        ),
    )
    read_paths: list[AbsolutePath] = Field(
        default_factory=list,
        description=(
            "Files and directories outside of the project that a rewritten program, its build and the test command may "
            "read, as absolute paths; a rewrite sees all that is in them. Left out: none, and a program that needs one "
            "fails with every rewrite."
        ),
    )
    ignore_output: list[str] = Field(
        default_factory=list,
        description=(
            "Regular expressions. Lines of the program's output that match one may differ after a rewrite; all others "
            "must stay the same. Numbers that differ between two runs of the original, such as times, need no pattern."
        ),
    )


class LlmConfig(_Section):
    """The rewriter that asks a language model, and its limits. Nothing is sent without `model` and consent."""

    model: str | None = Field(
        None,
        description=(
            "The model as `provider/name`, such as `openai/gpt-4.1`, `anthropic/claude-sonnet-4-5` or "
            "`ollama/qwen2.5-coder`. Left out: no language model is used."
        ),
    )
    api_base: str | None = Field(
        None,
        pattern=r"^https?://",
        description=(
            "Address of the provider's API. Left out: the provider's own. Needed for your own server, such as "
            '`http://127.0.0.1:8080/v1` with `model = "openai/name"`.'
        ),
    )
    key_env: str | None = Field(
        None,
        pattern=r"^[A-Za-z_][A-Za-z0-9_]*$",
        description="Environment variable that holds the key. Left out: the provider's usual one.",
    )
    engine: Literal["lm15", "litellm"] = Field(
        "lm15",
        description="What talks to the provider: DSPy's own engine, or LiteLLM for providers that it does not know.",
    )
    stream: bool = Field(
        True,
        description=(
            "Read answers piece by piece, which shows progress. Turn it off for a server that cannot send them so."
        ),
    )
    steps: Literal["together", "apart"] = Field(
        "together",
        description=(
            "Requests of an attempt: one for diagnosis, plan and kernel, or one for each. An attempt that mends an "
            "earlier one is always one request."
        ),
    )
    learn: bool = Field(
        False,
        description=(
            "Keep verified rewrites in the project's `.hipscope`, and show the model the nearest one or two for "
            "findings of the same kind."
        ),
    )
    program: str | None = Field(
        None, description="A program file that `hipscope llm train` wrote, relative to `hipscope.toml`."
    )
    sources: list[PromptSource] = Field(
        default_factory=lambda: list(get_args(PromptSource)),
        description="Which parts of the profile the prompt shows beside findings, launches and source text.",
    )
    max_prompt_tokens: Count = Field(12_000, description="Size of one prompt, estimated.")
    max_answer_tokens: Count | None = Field(
        None, description="Size of one answer. Left out: the provider's limit."
    )
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = Field(
        None, description="Sampling temperature. Left out: the provider's own."
    )
    candidates: Annotated[int, Field(ge=1, le=8)] = Field(
        2, description="How many different rewrites are asked for in one round."
    )
    max_attempts: Count = Field(6, description="How many answers are asked for, over all rounds.")
    max_calls: Count | None = Field(
        None, description="Requests to the model, over all rounds. Left out: as many as the attempts need."
    )
    max_tokens: Count = Field(200_000, description="Tokens sent and received, over all rounds.")
    max_seconds: Positive = Field(
        900.0,
        description=(
            "Seconds of requests and judging after which requests end; answers received until then are still judged."
        ),
    )
    max_cost: Positive | None = Field(
        None,
        description=(
            "US dollars after which requests end. Needs a model with a known price; the last round may go "
            "over it."
        ),
    )
    price_in: Annotated[float, Field(ge=0.0)] | None = Field(
        None, description="US dollars for a million tokens sent, where the price is not known."
    )
    price_out: Annotated[float, Field(ge=0.0)] | None = Field(
        None, description="US dollars for a million tokens received, where the price is not known."
    )
    target_speedup: Annotated[float, Field(ge=1.0)] | None = Field(
        None, description="Stop as soon as a verified rewrite is this many times as fast."
    )
    timeout_s: Positive = Field(
        180.0,
        description=(
            "Seconds until an answer begins, retries included; without `stream`, until it is there. How long it may go "
            "on is for `idle_timeout_s` and `max_seconds`."
        ),
    )
    idle_timeout_s: Positive = Field(
        60.0,
        description="Seconds without a further piece after which an answer that has begun counts as broken off.",
    )
    retries: Size = Field(2, description="How often a request is repeated after a failure that may pass.")


class BenchConfig(_Section):
    """One `[[bench]]`: a program for a kernel that has none."""

    file: str = Field(description="The file of the kernel, relative to `hipscope.toml`.")
    line: str = Field(description="The bench, as it would stand in a comment behind `hipscope: bench`.")


class Config(_Section):
    """All settings of a project."""

    _arch_given: bool = PrivateAttr(False)

    @model_validator(mode="wrap")
    @classmethod
    def _arch_of_the_device(cls, settings: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Without `arch`, code is compiled for the device that is modelled, or for the GPU that the program runs on."""
        given = not isinstance(settings, dict) or "arch" in settings
        row = None if given else device_table().get(str(settings.get("device", "")).strip().lower())
        config = handler({**settings, "arch": row["arch"]} if row else settings)
        if isinstance(settings, dict):
            config._arch_given = given
        return config

    @property
    def wanted_arch(self) -> str | None:
        """The architecture that the settings name; None when they leave it to the device."""
        return self.arch if self._arch_given else None

    build: str | None = Field(
        None,
        description=(
            "Shell command that builds the program, started in the directory of this file (in hipscope's copy of it). "
            "It may run the program: without ROCm that happens on the emulator, unprofiled. "
            "Left out: a single source file is compiled directly."
        ),
    )
    run: str | None = Field(
        None,
        description=(
            "Shell command that runs the program once, such as `./app --size 1024`. Needs `build`. Arguments after "
            "`--` on the command line stand in place of those of the program here."
        ),
    )
    arch: str = Field(
        "gfx942",
        pattern=r"^gfx[0-9a-f]{3,5}$",
        description="GPU architecture to compile for. Left out: that of the GPU that is profiled; on the "
        "emulator that of `device`.",
    )
    source_dirs: list[str] = Field(
        default_factory=lambda: ["."],
        description=(
            "Directories and single files, relative to this file, that belong to the project. With one outside of this "
            'file\'s directory, such as `[".", "../common", "../config.h"]`, the build finds these beside its own; '
            "`build` and `run` are still started in this file's."
        ),
    )
    backend: Literal["auto", "emulator", "rocm"] = Field(
        "auto", description="What records the profile. `auto` takes a real GPU when there is one."
    )
    device: str = Field(
        "mi300x",
        description="The GPU that the emulator models: `mi300x`, `mi300a`, `mi250x`, `mi210` or `mi355x`.",
    )
    formulas: list[str] = Field(
        default_factory=lambda: formula_names(),
        description="Which findings are looked for. Left out: all, with those of installed packages.",
    )

    @field_validator("formulas")
    @classmethod
    def _known_formulas(cls, names: list[str]) -> list[str]:
        known = formula_names()
        for name in names:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean `{close[0]}`?" if close else "known: " + ", ".join(known)
                raise ValueError(f"unknown formula `{name}`; {hint}")
        return names

    min_share: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        0.05, description="A finding is shown only if at least this share of the kernel's time is at stake."
    )
    tolerance: Positive | None = Field(
        None,
        description=(
            "Relative difference that a rewrite may make to floating-point results. Left out: by data type."
        ),
    )
    history: bool = Field(
        True,
        description=(
            "Keep a row of each profile and of each attempt at a rewrite in the user's state directory "
            "(`hipscope history`, `hipscope attempts`)."
        ),
    )
    flags: list[str] = Field(
        default_factory=list, description="Compiler flags for a single source file, after hipscope's own."
    )
    args: list[str] = Field(
        default_factory=list, description="Arguments of the program when none are given on the command line."
    )
    env: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "Environment variables for the build and the program. `CPATH`, `CPLUS_INCLUDE_PATH`, `C_INCLUDE_PATH` and "
            "`LIBRARY_PATH` of hipscope's own environment count, too, where they are not set here. "
            "In confined runs (a rewrite's builds and runs) `HOME` and `TMPDIR` are private folders, "
            "whatever is set here."
        ),
    )
    bench: list[BenchConfig] = Field(
        default_factory=list,
        description=(
            "Programs for kernels that have none ([benches](benches.md)), each as a table `[[bench]]` with `file` and "
            "`line`."
        ),
    )
    timeout_s: Positive = Field(120.0, description="Seconds that one run of the program may take.")
    build_timeout_s: Positive = Field(600.0, description="Seconds that one build may take.")
    cache_max_bytes: Count = Field(
        16 * 1024 * 1024 * 1024,
        description=(
            "Bytes that hipscope's cache may hold (`hipscope cache` shows it). What was used longest ago is removed "
            "first, nothing of the last hour."
        ),
    )
    toolchain: ToolchainConfig = Field(default_factory=ToolchainConfig)
    emulator: EmulatorConfig = Field(default_factory=EmulatorConfig)
    accordo: AccordoConfig = Field(default_factory=AccordoConfig)
    optimize: OptimizeConfig = Field(default_factory=OptimizeConfig)
    llm: LlmConfig = Field(default_factory=LlmConfig)


def formula_names() -> list[str]:
    """The built-in formulas, and those that installed packages bring (which are not imported for that)."""
    brought = sorted(entry.name for entry in importlib.metadata.entry_points(group=FORMULA_GROUP))
    return list(dict.fromkeys([*get_args(FormulaName), *brought]))


def load_config(directory: Path) -> Config:
    """The settings in `directory`/hipscope.toml, or the defaults. Raises `UsageError`, one line per mistake."""
    path = directory / CONFIG_FILE
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Config()
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: not UTF-8 text (byte {error.start})") from error
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    config, mistakes = read_settings_text(text)
    if config is None:
        lines = [mistake_place(text, mistake.key, mistake.message).line + 1 for mistake in mistakes]
        raise UsageError(
            "\n".join(
                f"{path}:{line}: {mistake.message}" for line, mistake in zip(lines, mistakes, strict=True)
            )
        )
    return config


@dataclass(frozen=True)
class SettingsMistake:
    """What is wrong with a `hipscope.toml`; `key` is its path, `table.key`, "" where the text is no TOML."""

    key: str
    message: str


def read_settings_text(text: str) -> tuple[Config | None, tuple[SettingsMistake, ...]]:
    """The settings in the text of a `hipscope.toml`, or None and all mistakes in it."""
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return None, (SettingsMistake("", f"not valid TOML: {error}"),)
    try:
        config = Config.model_validate(values)
    except ValidationError as error:
        return None, tuple(
            SettingsMistake(
                ".".join(map(str, detail["loc"])), _explain(detail["type"], detail["loc"], detail["msg"])
            )
            for detail in error.errors()
        )
    if (config.build is None) != (config.run is None):
        present, missing = ("build", "run") if config.run is None else ("run", "build")
        return None, (SettingsMistake(present, f"`{present}` needs `{missing}` beside it"),)
    return config, ()


def _explain(kind: str, location: tuple[int | str, ...], message: str) -> str:
    key = ".".join(str(part) for part in location)
    message = message.removeprefix("Value error, ")
    if kind != "extra_forbidden":
        return f"{key}: {message[:1].lower()}{message[1:]}"
    leaf = key.rpartition(".")[2]
    closeness = {
        name: max(_ratio(key, name), _ratio(leaf, name.rpartition(".")[2])) for name, _, _ in config_keys()
    }
    best = max(closeness, key=lambda name: closeness[name])
    return f"unknown key `{key}`" + (f"; did you mean `{best}`?" if closeness[best] >= 0.6 else "")


def _ratio(a: str, b: str) -> float:
    return difflib.SequenceMatcher(None, a, b).ratio()


def config_keys() -> list[tuple[str, Any, str]]:
    """Every key with its default and its description, tables as `table.key`, in the order of the model."""
    rows: list[tuple[str, Any, str]] = []
    for name, field in Config.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, _Section):
            rows += [
                (f"{name}.{inner}", part.get_default(call_default_factory=True), part.description or "")
                for inner, part in type(default).model_fields.items()
            ]
        else:
            rows.append((name, default, field.description or ""))
    return rows
