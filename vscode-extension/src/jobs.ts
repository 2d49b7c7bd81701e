// Progress of jobs. A job that the user asked for gets a notification with a Cancel button; one that a save
// started stays in the status bar, where the language client shows it by itself.
import * as vscode from "vscode";
import { WorkDoneProgressCancelNotification } from "vscode-languageclient/node";
import type {
  BaseLanguageClient,
  Middleware,
  ProgressToken,
  WorkDoneProgressReport,
} from "vscode-languageclient/node";
import { SERVER_CHECK, SERVER_OPEN_PROFILE, SERVER_OPTIMIZE, SERVER_PROFILE } from "./protocol";

interface Job {
  readonly report: (step: { message?: string; increment?: number }) => void;
  readonly end: () => void;
  percentage: number;
}

/** Commands that take long enough for a notification. */
const LONG: ReadonlySet<string> = new Set([
  SERVER_PROFILE,
  SERVER_CHECK,
  SERVER_OPTIMIZE,
  SERVER_OPEN_PROFILE,
]);

export class Jobs {
  /** Requests from the user that the server has not answered yet. */
  #asked = 0;
  readonly #running = new Map<ProgressToken, Job>();

  constructor(private readonly client: () => BaseLanguageClient | undefined) {}

  readonly middleware: Pick<Middleware, "executeCommand" | "handleWorkDoneProgress"> = {
    executeCommand: async (command, args, next): Promise<unknown> => {
      if (!LONG.has(command)) return next(command, args);
      this.#asked += 1;
      try {
        return await next(command, args);
      } finally {
        this.#asked -= 1;
      }
    },
    handleWorkDoneProgress: (token, params, next) => {
      if (params.kind === "begin" && this.#asked > 0) this.#begin(token, params.title, params.message);
      const job = this.#running.get(token);
      if (!job) next(token, params);
      else if (params.kind === "report") report(job, params);
      else if (params.kind === "end") job.end();
    },
  };

  /** Asks the server to stop every job that is shown. */
  cancelAll(): void {
    for (const token of this.#running.keys()) this.#cancel(token);
  }

  /** Takes all notifications down: the server has gone. */
  endAll(): void {
    for (const job of this.#running.values()) job.end();
  }

  #begin(token: ProgressToken, title: string, message: string | undefined): void {
    const options = { location: vscode.ProgressLocation.Notification, title, cancellable: true };
    void vscode.window.withProgress(
      options,
      (progress, cancellation) =>
        new Promise<void>((resolve) => {
          const end = (): void => {
            this.#running.delete(token);
            resolve();
          };
          this.#running.set(token, {
            report: (step) => {
              progress.report(step);
            },
            end,
            percentage: 0,
          });
          cancellation.onCancellationRequested(() => {
            this.#cancel(token);
          });
          if (message) progress.report({ message });
        }),
    );
  }

  #cancel(token: ProgressToken): void {
    void this.client()?.sendNotification(WorkDoneProgressCancelNotification.type, { token });
  }
}

function report(job: Job, params: WorkDoneProgressReport): void {
  const increment =
    params.percentage === undefined ? undefined : Math.max(0, params.percentage - job.percentage);
  job.percentage += increment ?? 0;
  job.report({
    ...(params.message !== undefined && { message: params.message }),
    ...(increment !== undefined && { increment }),
  });
}
