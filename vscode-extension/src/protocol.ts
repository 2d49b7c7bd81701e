// What the client and `hipscope lsp` say to each other beyond LSP itself: command ids and notifications.
import { NotificationType, RequestType } from "vscode-languageclient/node";

/**
 * Commands that the server registers. The language client makes an editor command of the same name of each,
 * so the ids in the palette (`hipscope.profile`, ...) have to be different ones.
 */
export const SERVER_PROFILE = "hipscope.server.profile";
export const SERVER_OPTIMIZE = "hipscope.server.optimize";
export const SERVER_CHECK = "hipscope.server.check";
export const SERVER_BENCH = "hipscope.server.bench";
export const SERVER_RESTORE = "hipscope.server.restore";
export const SERVER_OPEN_PROFILE = "hipscope.server.openProfile";
export const SERVER_CANCEL = "hipscope.server.cancel";
export const SERVER_APPLY = "hipscope.server.apply";
export const SERVER_DISCARD = "hipscope.server.discard";
export const SERVER_NEXT = "hipscope.server.nextCandidate";
export const SERVER_SET_ARGUMENTS = "hipscope.server.setArguments";
export const SERVER_METRICS = "hipscope.server.metrics";
export const SERVER_COMPARE = "hipscope.server.compare";
export const SERVER_EXPLAIN = "hipscope.server.explain";
export const SERVER_CHOOSE_BUILD = "hipscope.server.chooseBuild";

/** Initialization option that turns on the notifications below. */
export const EXTENSION_MARK = "hipscopeExtension";

export interface HotLine {
  /** Line in the document, counted from 0. */
  readonly line: number;
  /** Share of the kernel's time, 0 to 1. */
  readonly share: number;
  /** What the line mostly waits for, in words. */
  readonly reason: string;
  /** The kernel's text is not the one that was profiled any more. */
  readonly stale?: boolean;
}

/** Replaces all that was said before about `uri`. */
export interface HeatParams {
  readonly uri: string;
  /** Document version that the line numbers are of; null when the file was not open. */
  readonly version: number | null;
  readonly lines: readonly HotLine[];
}

export type JobState = "idle" | "profiling" | "checking" | "optimizing" | "waiting" | "error";

export interface StatusParams {
  readonly state: JobState;
  readonly message?: string | null;
  readonly uri?: string | null;
}

export const heatNotification = new NotificationType<HeatParams>("hipscope/heat");
/** The user wants to set the arguments of the program at `uri`. */
export interface SetArgumentsParams {
  readonly uri: string;
}

export const setArgumentsNotification = new NotificationType<SetArgumentsParams>("hipscope/setArguments");
/** The arguments of a program, and those that its build files name. */
export interface ProgramArguments {
  readonly name: string;
  readonly arguments: readonly string[];
  /** What they are written into. */
  readonly writes: "source" | "toml";
  readonly suggestions: readonly { readonly arguments: readonly string[]; readonly origin: string }[];
}

export const argumentsRequest = new RequestType<SetArgumentsParams, ProgramArguments, void>(
  "hipscope/arguments",
);

/** A page to show rendered: a text, or the file of an address. */
export interface PageParams {
  readonly title: string;
  readonly uri: string | null;
  readonly markdown: string | null;
}

export const pageNotification = new NotificationType<PageParams>("hipscope/page");

/** A command that the user has asked for: to run where it is seen, or to copy; or the log, where it has been printed. */
export interface CommandParams {
  readonly command: string;
  readonly how: "run" | "copy" | "log";
  /** The document to profile again when the command has run well. */
  readonly uri?: string;
}

export const commandNotification = new NotificationType<CommandParams>("hipscope/command");

/** The server has edited a file of settings, which counts when it is saved. */
export const saveNotification = new NotificationType<SetArgumentsParams>("hipscope/save");
export const statusNotification = new NotificationType<StatusParams>("hipscope/status");

/** A verified rewrite that waits for the user's decision. */
export interface ProposalParams {
  readonly id: string;
  /** The document that it was asked from. */
  readonly uri: string;
  /** What it does and what for. */
  readonly title: string;
  /** How fast, measured or modelled, of which kernel. */
  readonly headline: string;
  readonly defects: string;
  readonly files: readonly { readonly uri: string; readonly text: string }[];
  readonly patch: string;
  /** Markdown: what was compared, what was never varied, numbers before and after, other attempts. */
  readonly evidence: string;
}

export const proposalNotification = new NotificationType<ProposalParams>("hipscope/proposal");

export interface KernelFinding {
  readonly formula: string;
  /** Line in the document, counted from 0. */
  readonly line: number;
  /** Share of the kernel's time at stake, 0 to 1. */
  readonly share: number;
}

/** A profiled kernel by what it costs. */
export interface KernelRow {
  readonly name: string;
  readonly mangled: string;
  readonly uri: string;
  readonly range: { readonly start: { readonly line: number } };
  readonly timeNs: number | null;
  readonly share: number | null;
  readonly bound: string;
  /** Time, share and bound in words. */
  readonly summary: string;
  readonly stale: boolean;
  readonly provenance: string;
  readonly findings: readonly KernelFinding[];
}

export const kernelsRequest = new RequestType<{ uri?: string }, { kernels: KernelRow[] }, void>(
  "hipscope/kernels",
);

/** A program by what it costs: the one of a document, else the one that was profiled last. */
export interface ProjectRow {
  readonly name: string;
  readonly kernels: number;
  /** Findings in it that are of the texts as they are now. */
  readonly findings: number;
  readonly stale: boolean;
  readonly provenance: string;
  readonly top: { readonly name: string; readonly summary: string } | null;
  /** Its time on the GPU, its costliest kernel and what binds that one, in words. */
  readonly summary: string;
}

export const projectRequest = new RequestType<{ uri?: string }, ProjectRow | null, void>("hipscope/project");

export interface KeptKernel {
  readonly name: string;
  readonly timeNs: number | null;
  readonly bound: string;
}

/** A profile of the project's history. */
export interface KeptProfile {
  readonly id: string;
  readonly time: string;
  readonly commit: string;
  readonly dirty: boolean;
  readonly provenance: string;
  readonly kernels: readonly KeptKernel[];
}

export const historyRequest = new RequestType<{ uri?: string }, { profiles: KeptProfile[] }, void>(
  "hipscope/history",
);

/** One machine instruction; `line` counts from 0 in the document as it is now. */
export interface ListedInstruction {
  readonly index: number;
  readonly text: string;
  readonly uri: string | null;
  readonly line: number | null;
  readonly hits: number;
  readonly cycles: number;
  /** Share of the kernel's cycles, 0 to 1. */
  readonly share: number;
  readonly stalls: Readonly<Record<string, number>>;
  /** The instructions whose results it waited for. */
  readonly producers: readonly { readonly index: number; readonly cycles: number }[];
  /** In the document's line, from 0. */
  readonly column: number | null;
  /** Vector registers whose values are still needed behind it. */
  readonly vgprs: number | null;
}

/** The machine code of a kernel. */
export interface IsaListing {
  readonly kernel: string;
  readonly mangled: string;
  readonly provenance: string;
  readonly sampled: boolean;
  readonly stale: boolean;
  readonly instructions: readonly ListedInstruction[];
}

export const isaRequest = new RequestType<
  { uri: string; position?: { line: number; character: number } },
  IsaListing,
  void
>("hipscope/isa");
