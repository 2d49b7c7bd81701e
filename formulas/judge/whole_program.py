"""The last gate: the whole program, built and run with the rewrite in place of the original.

Takes a bench and the new text, gives what is different or slower, in words. Nothing on disk changes.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from hipscope.accordo.compare.device_effects import (
    Compared,
    Effect,
    compare_effects,
    read_effects,
    unsteady_kernels,
)
from hipscope.accordo.compare.other_rounding import TIMES, rounded_texts
from hipscope.accordo.reference.prepare import known_memory
from hipscope.analysis.errors import BuildFailed, ProgramFailed
from hipscope.analysis.metrics.launch_counts import (
    as_often,
    launch_counts,
    other_launches,
    other_work,
    varying_counts,
)
from hipscope.analysis.profile import Profile
from hipscope.analysis.profilers.emulator import UNTIMED_NS
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, ProfileSession, profile_project
from hipscope.analysis.system.directories import cache_directory
from hipscope.analysis.system.process import Stop
from hipscope.analysis.system.sandbox import Box, paths_in, plain_environment, private_copy, run_confined
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment
from hipscope.emulator.symbolize import demangle
from hipscope.formulas.judge.bench import Bench
from hipscope.formulas.judge.outcome import ProgramTimes
from hipscope.formulas.judge.program_output import (
    OF_ERRORS,
    Varied,
    changed_line,
    lines_that_vary,
    output_difference,
    settled_by_rounding,
    with_earlier_lines,
)
from hipscope.formulas.judge.speed_gate import OTHERS_SLOWER, slower_kernels

# So that no time that a program prints is the same as with the right clock. The first run models no times: it costs
# less than half, and each launch takes what one takes on average.
_OTHER_CLOCKS = ((137, False), (73, True))  # per cent; whether launches are timed
_OTHER_RUNS = 2  # that show whether the number of launches varies by itself
# A program whose results depend on the order of its waves, as sums of floats by atomics, is the same from run to run on
# the emulator, until a rewrite changes what its kernels find in the caches. Odd seeds run about backwards.
_OTHER_ORDERS = (1, 2, 5)
_VARIES = "Numbers in it change from run to run without the rewrite, too."
_ROUNDING = 1e-5  # relative; what a single-precision result may be off by (accordo/compare/tolerance.py)
_POISONED = ((0x1F2E3D4C, False), (0x1F2E3D4C, True))  # seed; whether inverted
_UNWRITTEN = (
    "The kernel leaves bytes that hold what nothing wrote, and the program's result may depend on them:"
)
_BEYOND = "The program's output changes further than from run to run,"
_CONFINED_BUILD = (
    " It is built confined: what else the build reads is named in optimize.read_paths in hipscope.toml."
)


@dataclass(frozen=True)
class Rehearsed:
    """What is different or slower in the whole program with a rewrite, or None; `notes` on what was not compared.

    `times` of the rewritten kernels: None where one of both runs could not be timed in whole. `session` is the run with
    the rewrite, where its launches were recorded under their own names.
    """

    failure: str | None
    notes: tuple[str, ...] = ()
    times: ProgramTimes | None = None
    session: ProfileSession | None = None


def try_program(
    bench: Bench, text: bytes, run: Run | None = None, *, exact: bool, unspecified: bool = False
) -> Rehearsed:
    """Build and run the whole program with the new text, and then the project's tests, if it has any.

    `exact` and `unspecified` as for `Rehearsals.finish`.
    """
    run = run or bench.run
    run.say("running the program with the rewrite")
    with Rehearsals(bench, run) as rehearsals:
        return rehearsals.finish(text, exact=exact, unspecified=unspecified)


class Rehearsals:
    """Whole programs with rewrites in them, built and run while the rewrites are still being proved.

    Nothing of them outlives the `with` block.
    """

    def __init__(
        self,
        bench: Bench,
        run: Run,
        *,
        file: Path | None = None,
        also: Sequence[tuple[Path, bytes]] = (),
        record: bool = False,
        renamed: Mapping[str, str] | None = None,
    ) -> None:
        """`file` is the one that the rewrites are texts of, None the kernel's own; `also` are the texts of further
        files that go with each. `record` their launches, too.

        `renamed` are kernels that have another symbol with the rewrite, by that symbol.
        """
        self._bench = bench
        self._renamed = renamed or {}
        self._file = file
        self._also = tuple(also)
        self._record = record
        self._asked = run
        self._stop = Stop(run.cancel)
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._files: dict[bytes, Path] = {}  # of texts of other files
        self._begun: dict[bytes, tuple[Stop, Future[ProfileSession]]] = {}
        self._originals: list[str] = []
        self._effects: list[Sequence[Effect]] = []  # of runs of the original
        self._again: list[Profile] = []  # further runs of the original
        self._ordered: list[ProfileSession] = []  # runs of the original in other orders of waves
        self._over_poison: list[
            ProfileSession
        ] = []  # runs of the original over complementary unwritten memory
        self._rounded: list[ProfileSession] | None = None  # runs of the original that round otherwise
        # Where a GPU decides, only what other kernels take is compared: without any, a plain run does in half the time.
        others = any(k.mangled not in bench.symbols for k in bench.session.profile.kernels)
        self._timed = others or not bench.timed_later

    def __enter__(self) -> Rehearsals:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._pool.shutdown(cancel_futures=True)

    def begin(self, text: bytes, file: Path | None = None) -> None:
        """Build and run the program with this text, if that has not begun yet. `file` as for all, where it is given."""
        if file is not None:
            self._files[text] = file
        if text not in self._begun:
            stop = Stop(self._stop)
            self._begun[text] = (stop, self._pool.submit(self._run, text, self._timed, stop))

    def session(self, text: bytes) -> ProfileSession:
        """The program's run with this text. Raises what building and running raise."""
        self.begin(text)
        return self._begun[text][1].result()

    def drop(self, text: bytes) -> None:
        """End the runs of this text: their result is not needed any more."""
        if text in self._begun:
            self._begun.pop(text)[0].set()

    def finish(
        self, text: bytes, *, exact: bool, file: Path | None = None, unspecified: bool = False
    ) -> Rehearsed:
        """How the program with this text compares. Raises Cancelled.

        Unless the rewrite was `exact`, bit for bit, printed floats may differ as much as computed ones. `unspecified`:
        it was proved but for bytes that hold what nothing wrote; then what the program prints may not depend on them.
        """
        bench = self._bench
        self.begin(text, file)
        was, ignored = placed(bench.session, bench.project.root), bench.project.config.optimize.ignore_output
        try:
            session = self._begun[text][1].result()
            if (
                not self._timed
                and program_difference(was, session.profile, bench.symbols, ignored) is not None
            ):
                session = self._run(text, True, self._stop)  # it may print times, which it had none of
        except (BuildFailed, ProgramFailed) as failure:
            more = _CONFINED_BUILD if isinstance(failure, BuildFailed) else ""
            return Rehearsed(f"The program with the rewrite fails: {failure.message}.{more}")
        rounding = 0.0 if exact else bench.project.config.tolerance or _ROUNDING
        new, settled = session.profile, tuple[str, ...]()
        varied = self._varying(was, new, ignored, rounding)
        if rounding > 0 and not varied.explained:
            new, settled = self._settled(was, new, ignored)
            varied = self._varying(was, new, ignored, rounding) if settled else varied
        if varied.beyond is not None:
            return Rehearsed(
                f"{_BEYOND} {varied.beyond}. If it may, name the line in optimize.ignore_output."
            )
        if varied.changed is not None:
            return Rehearsed(changed_line(*varied.changed))
        printed = was if varied.lines or varied.rounded or varied.errors else new
        now = with_output(new, printed.program.output)
        different, launched = program_difference(was, now, bench.symbols, ignored), []
        unsteady = frozenset[str]()
        if different is not None and (other_launches(was, now) or other_work(was, now)):
            others, unsteady = self._other_runs(), other_work(was, now) & self._unsteady()
            different = program_difference(was, now, bench.symbols, ignored, others, unsteady)
            launched = _other_numbers(was, now, others) + [
                f"The time of {_shown(was, k)} is not compared: what it does depends on the order of waves."
                for k in sorted(unsteady - set(bench.symbols))
            ]
        command = bench.project.config.optimize.test_command
        if different is None and command is not None:
            self._asked.say("running the project's tests on the rewrite")
            different = failed_tests(bench.project, session, command, self._beside(self._stop, text))
        notes = [f"Not compared: `{line}`. {_VARIES}" for line in varied.lines] + launched
        notes += [
            f"Compared within {TIMES:g} times what other roundings change: `{line}`." for line in settled
        ]
        if different is None and unspecified:
            different = self._depends_on_unwritten(was, ignored, rounding)
        if different is None:
            compared = self._device_difference(session, rounding)
            different = compared.difference
            notes += [compared.note] if compared.note else []
        notes += [f"Compared within {rounding:g} of each number: `{line}`." for line in varied.rounded]
        notes += [
            f"Compared within {OF_ERRORS:g} of each number, as an error: `{line}`." for line in varied.errors
        ]
        if not self._timed:
            return Rehearsed(different, tuple(notes))
        notes += _slower_instances(was, session.profile, bench.symbols)
        notes += slower_kernels(was, session.profile, bench.symbols, unsteady)[0]
        times = program_times(was, session.profile, bench.symbols)
        recorded = session if self._record and not self._renamed else None
        return Rehearsed(different, tuple(notes), times, recorded)

    def _device_difference(self, session: ProfileSession, rounding: float) -> Compared:
        """What the program leaves on the device and gives to the host, against runs without the rewrite."""
        now, prepared = self._left(session), self._bench.session.prepared_dir is not None
        if not self._effects and (was := read_effects(self._bench.session.run_dir)) is not None:
            self._effects = [was]
        if now is None or not self._effects:
            return Compared(None)
        if self._over_poison:
            pair = [read_effects(one.run_dir) or () for one in self._over_poison]
            originals = [*self._effects[: 1 - prepared], *pair]  # what was prepared may be of other data
            return compare_effects(originals, now, rounding, complementary=True)
        reference = self._bench.reference if rounding > 0 else None
        structures = reference.signature.structures if reference else None
        memory = known_memory(reference) if reference else ()
        compared = compare_effects(self._effects, now, rounding, structures=structures, memory=memory)
        if compared.difference is None:
            return compared
        # It may differ by itself; and what was prepared may be of other data than the program reads now.
        try:
            while len(self._effects) < 2 + prepared:
                self._effects.append(read_effects(self._unchanged(None).run_dir) or ())
        except (BuildFailed, ProgramFailed):
            return compared
        originals = self._effects[prepared:]
        compared = compare_effects(originals, now, rounding, structures=structures, memory=memory)
        if compared.difference is None:
            return compared
        if rounding > 0:
            # What its steps round they may multiply, where each goes on from what the one before has left.
            left = [read_effects(s.run_dir) or () for s in self._rounded_otherwise()]
            again = compare_effects(
                originals, now, rounding, structures=structures, memory=memory, otherwise=left
            )
            if again.difference is None:
                return again
        # Its results may depend on the order of waves, which a rewrite changes in other kernels, too.
        return compare_effects(
            [*originals, *self._ordered_effects()], now, rounding, structures=structures, memory=memory
        )

    def _settled(self, was: Profile, new: Profile, ignored: Sequence[str]) -> tuple[Profile, tuple[str, ...]]:
        """The run with the numbers as they were where other roundings change them as much; and the lines of these."""
        otherwise = [session.profile.program.output for session in self._rounded_otherwise()]
        output, lines = settled_by_rounding(was.program.output, otherwise, new.program.output, ignored)
        return with_output(new, output), lines

    def _rounded_otherwise(self) -> Sequence[ProfileSession]:
        """Runs of the original whose kernels the compiler lets round otherwise; without those that fail."""
        file = self._bench.source
        text = self._asked.texts.read(file)
        if self._rounded is None:
            self._rounded = []
            options = ProfileOptions(backend="emulator", confined=True, timed=False)
            for changed in rounded_texts(text) if text is not None else ():
                run = self._asked.quietly().until(self._stop).replacing(file, changed)
                with contextlib.suppress(BuildFailed, ProgramFailed):
                    session = profile_project(self._bench.project, run, options=options)
                    again = self._as_before(placed(session, self._bench.project.root), file, changed)
                    self._rounded.append(replace(session, profile=again))
        return self._rounded

    def _depends_on_unwritten(self, was: Profile, ignored: Sequence[str], rounding: float) -> str | None:
        """Why the program's result hangs on memory that nothing wrote: it is another one over other contents of it."""
        try:
            while len(self._over_poison) < len(_POISONED):
                self._over_poison.append(self._unchanged(None, _POISONED[len(self._over_poison)]))
        except (BuildFailed, ProgramFailed) as failure:
            return f"{_UNWRITTEN} with other contents of that it fails: {failure.message}."
        for session in self._over_poison:
            now = placed(session, self._bench.project.root)
            varied = self._varying(was, now, ignored, rounding)
            if not varied.explained or now.program.exit_code != was.program.exit_code:
                return f"{_UNWRITTEN} with other contents of that it prints something else."
            printed = varied.lines or varied.rounded or varied.errors
            if not printed and output_difference(was.program.output, now.program.output, ignored) is not None:
                return f"{_UNWRITTEN} with other contents of that it prints something else."
        return None

    def _left(self, session: ProfileSession) -> Sequence[Effect] | None:
        """What the launches with a rewrite leave, under the kernels' names without it."""
        found = read_effects(session.run_dir)
        return (
            None
            if found is None
            else [replace(e, kernel=self._renamed.get(e.kernel, e.kernel)) for e in found]
        )

    def _run(self, text: bytes, timed: bool, stop: Stop) -> ProfileSession:
        recorded = () if self._record else None
        options = ProfileOptions(
            backend="emulator", confined=True, timed=timed, capture_dispatches=recorded, waves=False
        )
        session = profile_project(self._bench.project, self._beside(stop, text), options=options)
        kernels = [
            k.model_copy(update={"mangled": self._renamed.get(k.mangled, k.mangled)})
            for k in session.profile.kernels
        ]
        profile = self._with_earlier_lines(placed(session, self._bench.project.root), text)
        return replace(session, profile=profile.model_copy(update={"kernels": tuple(kernels)}))

    def _with_earlier_lines(self, profile: Profile, text: bytes) -> Profile:
        """The profile of a run with this text, its output with the numbers that lines have without it."""
        for file, changed in ((self._file_of(text), text), *self._also):
            profile = self._as_before(profile, file, changed)
        return profile

    def _as_before(self, profile: Profile, file: Path, changed: bytes) -> Profile:
        """The profile of a run with that text of a file, its output with the numbers that its lines have without it."""
        was = placed(self._bench.session, self._bench.project.root)
        if (before := self._asked.texts.read(file)) is None:
            return profile
        printed = frozenset(was.program.output.split("\n"))
        return with_output(
            profile, with_earlier_lines(profile.program.output, file.name, before, changed, printed)
        )

    def _file_of(self, text: bytes) -> Path:
        """The file that this is a text of."""
        return self._files.get(text) or self._file or self._bench.source

    def _varying(self, was: Profile, new: Profile, ignored: Sequence[str], rounding: float) -> Varied:
        """The lines that differ only in times: in numbers that other runs of the original print otherwise, too."""
        nothing = Varied(())
        before, after = was.program.output, new.program.output
        if output_difference(before, after, ignored) is None:
            return nothing
        rounded = lines_that_vary([before], after, ignored, rounding=rounding)
        if rounded is not None and rounded.explained:
            return rounded
        # What a program prints as a rate grows as its kernels become faster.
        faster = max([1.0, *_times_as_fast(was, new, self._bench.symbols)])
        varied = None
        for runs, (clock, timed) in enumerate(_OTHER_CLOCKS, 2):
            if not timed:
                clock = max(1, math.ceil(clock * _mean_launch(was) / UNTIMED_NS))
            try:
                self._run_originals(before, runs, clock, timed=timed)
            except (BuildFailed, ProgramFailed):
                return nothing
            originals = self._originals[:runs]
            own = None if before in originals else lines_that_vary(originals, before, ignored)
            if before not in originals and (own is None or own.changed is not None):
                continue
            varied = lines_that_vary(originals, after, ignored, faster, rounding)
            # A number that two runs happen to print alike may still be another one in the third.
            if varied is not None and varied.explained:
                break
        return varied or nothing

    def _run_originals(self, before: str, runs: int, clock: int, *, timed: bool) -> None:
        """See to it that so many runs of the original are known, the last one by that clock."""
        if not self._originals:
            # What was prepared may be of other data than the program reads now.
            self._originals = [
                self._original(None) if self._bench.session.prepared_dir is not None else before
            ]
        if len(self._originals) < runs:
            self._originals.append(self._original(clock, timed=timed))

    def _original(self, clock_percent: int | None, *, timed: bool = True) -> str:
        """What the program prints without a rewrite."""
        again = self._unchanged(clock_percent, timed=timed, order=None if timed else _OTHER_ORDERS[0])
        return placed(again, self._bench.project.root).program.output

    def _unchanged(
        self,
        clock_percent: int | None,
        poison: tuple[int, bool] | None = None,
        *,
        timed: bool = True,
        order: int | None = None,
    ) -> ProfileSession:
        """Another run of the program without a rewrite."""
        options = ProfileOptions(
            backend="emulator",
            confined=True,
            clock_percent=clock_percent,
            timed=timed,
            poison=poison,
            order=order,
        )
        return profile_project(self._bench.project, self._beside(self._stop), options=options)

    def _other_runs(self) -> Sequence[Profile]:
        """Runs of the program without a rewrite, beside the one that it was profiled in; none where they fail."""
        try:
            while len(self._again) < _OTHER_RUNS:
                self._again.append(self._unchanged(None).profile)
        except (BuildFailed, ProgramFailed):
            return ()
        return [*self._again, *(session.profile for session in self._other_orders())]

    def _other_orders(self) -> Sequence[ProfileSession]:
        """Runs of the program without a rewrite, its waves and workgroups in other orders; none where they fail."""
        try:
            while len(self._ordered) < len(_OTHER_ORDERS):
                order = _OTHER_ORDERS[len(self._ordered)]
                self._ordered.append(self._unchanged(None, timed=False, order=order))
        except (BuildFailed, ProgramFailed):
            return ()
        return self._ordered

    def _ordered_effects(self) -> Sequence[Sequence[Effect]]:
        """What runs of the original in other orders leave."""
        known = [read_effects(session.run_dir) for session in self._other_orders()]
        return [run for run in known if run is not None]

    def _unsteady(self) -> frozenset[str]:
        """Kernels whose results, or numbers of launches, depend on the order of waves."""
        runs = self._ordered_effects()
        return unsteady_kernels(runs) if runs else frozenset()

    def _beside(self, stop: Stop, text: bytes | None = None) -> Run:
        """The run of something that goes on beside what is shown, with that text in place of the source's."""
        beside = self._asked.quietly().until(stop)
        if text is None:
            return beside
        return beside.replacing(self._file_of(text), text).replacing_all(self._also)


def program_times(was: Profile, new: Profile, rewritten: Collection[str]) -> ProgramTimes | None:
    """What the rewritten kernels take in two runs of the program; None where one of them is not timed in whole."""
    if was.partial is not None or new.partial is not None:
        return None
    before, after = (sum(k.time_ns for k in p.kernels if k.mangled in rewritten) for p in (was, new))
    return ProgramTimes(before_ns=before, after_ns=after) if before > 0 and after > 0 else None


def _slower_instances(was: Profile, new: Profile, rewritten: Collection[str]) -> list[str]:
    """A note for each kernel that was rewritten together with another one and is slower for it."""
    pairs = [(k, new.kernel(k.mangled)) for k in was.kernels if k.mangled in rewritten]
    return [
        f"{k.name} becomes slower: {again.time_ns / 1e3:.4g} us, before {k.time_ns / 1e3:.4g} us."
        for k, again in pairs
        if len(pairs) > 1 and again is not None and again.time_ns > k.time_ns * OTHERS_SLOWER
    ]


def placed(session: ProfileSession, root: Path) -> Profile:
    """The profile of a run with the project's directory in place of those that the run was built in.

    A program may print where it is or how it was called, and each text of it is built in directories of its own.
    """
    profile, built = session.profile, session.built
    output = profile.program.output
    # A build command calls the program as it likes, below the tree; else it is called by its path in the cache.
    called = (Path(built.argv[0]).parent,) if built.code_objects else ()
    for there in dict.fromkeys((*called, built.tree, built.tree.resolve())):
        output = output.replace(str(there), str(root))
    return with_output(profile, output)


def with_output(profile: Profile, output: str) -> Profile:
    """The profile of a program that printed this."""
    return profile.model_copy(update={"program": profile.program.model_copy(update={"output": output})})


def _times_as_fast(was: Profile, new: Profile, rewritten: Collection[str]) -> list[float]:
    """How many times as fast each of the rewritten kernels is."""
    pairs = [(k, new.kernel(k.mangled)) for k in was.kernels if k.mangled in rewritten]
    return [k.time_ns / again.time_ns for k, again in pairs if again is not None and again.time_ns > 0]


def failed_tests(project: Project, session: ProfileSession, command: str, run: Run) -> str | None:
    """Run the project's own tests confined, in a copy of the project with the run's texts; why they fail, or None."""
    root = session.built.tree
    cache = cache_directory() / "disassembly"
    options = EmulatorOptions(
        objdump=session.toolchain.objdump, cache=cache, libraries=session.toolchain.emulated_libraries
    )
    given = {**os.environ, **project.config.env, **session.built.env}
    variables = {**emulator_environment(options, given), "HIPSCOPE_PROGRAM": session.built.argv[0]}
    with private_copy(root) as shown:
        if not shown:
            return f"The test command was not run: {root} is too large to copy."
        for path, text in run.texts.unsaved.items():
            if path.is_relative_to(project.root):
                (shown[root] / path.relative_to(project.root)).write_bytes(text)
        words = paths_in([session.built.argv[0], *variables.values(), *project.config.env.values()])
        done = run_confined(
            ["/bin/sh", "-c", command],
            Box(
                read=(*(p if p.is_dir() else p.parent for p in words), *project.config.optimize.read_paths),
                write=(cache,),
                shown=shown,
            ),
            timeout=project.config.timeout_s,
            cwd=session.built.directory,
            env=plain_environment({**project.config.env, **session.built.env, **variables}),
            cancel=run.cancel,
        )
    if done.ok:
        return None
    how = "took too long" if done.timed_out else done.stopped or f"left with {done.returncode}"
    said = done.text.strip().splitlines()
    return f"The test command fails with the rewrite: it {how.removeprefix('it ')}" + (
        f": {said[-1]}" if said else "."
    )


def program_difference(
    old: Profile,
    new: Profile,
    rewritten: Collection[str],
    ignored: Sequence[str],
    others: Sequence[Profile] = (),
    unsteady: Collection[str] = (),
) -> str | None:
    """What another run of the program does otherwise, how another kernel than `rewritten` is slower; or None.

    `others` are further runs of the `old` program: what they launch otherwise, the new one may as well. Kernels
    that are `unsteady` do other work from run to run, so that they may take longer.
    """
    if (fault := next(iter(new.faults), None)) is not None and not old.faults:
        return f"The program with the rewrite faults: {fault.message}."
    if old.program.exit_code != new.program.exit_code:
        codes = f"{old.program.exit_code} to {new.program.exit_code}"
        return f"The program's exit code changes from {codes} with the rewrite."
    if (difference := output_difference(old.program.output, new.program.output, ignored)) is not None:
        return difference
    before, after = launch_counts(old), launch_counts(new)
    if (more := next((k for k in after if k not in before), None)) is not None:
        return f"The program runs another kernel, {_shown(new, more)}, with the rewrite."
    for mangled, count in before.items():
        name = _shown(old, mangled)
        if mangled not in after:
            return f"The kernel {name} does not run any more with the rewrite."
        if not as_often(mangled, count, after[mangled], others):
            return f"The kernel {name} is launched {after[mangled]} times with the rewrite, before {count} times."
    slower, little = slower_kernels(old, new, rewritten, unsteady)
    return slower[0] if slower and not little else None


def _shown(profile: Profile, mangled: str) -> str:
    kernel = profile.kernel(mangled)
    return demangle(mangled) if kernel is None else kernel.name


def _other_numbers(old: Profile, new: Profile, others: Sequence[Profile]) -> list[str]:
    """A note for each kernel of which runs of the original launch other numbers, too."""
    after = launch_counts(new)
    return [
        f"{_shown(old, mangled)} is launched {after[mangled]} times; without the rewrite {least} to {most} times, from "
        "run to run."
        for mangled, (least, most) in varying_counts(old, others).items()
        if mangled in after
    ]


def _mean_launch(profile: Profile) -> float:
    """Nanoseconds of a launch of the program on average."""
    launches = sum(len(k.dispatches) for k in profile.kernels)
    return sum(k.time_ns for k in profile.kernels) / max(1, launches)
