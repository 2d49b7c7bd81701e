// Servers that ended by themselves: whether another one is started, and what the user is told, with what to do.
import * as vscode from "vscode";

const MOST = 3;
const WITHIN = 180_000; // milliseconds

export class Ends {
  #times: number[] = [];

  /** Counts an end. Whether to start another server: false where they end again and again, which is told. */
  again(): boolean {
    const now = Date.now();
    this.#times = [...this.#times.filter((time) => now - time < WITHIN), now];
    if (this.#times.length <= MOST) return true;
    const message = `hipscope's server ended ${String(this.#times.length)} times within 3 minutes, and is not started again.`;
    this.#times = [];
    void tell(message, { "Restart Server": "hipscope.restartServer", "Show Log": "hipscope.showLog" });
    return false;
  }

  /** Tells what was lost, once another server runs and can be asked for it. */
  tellLost(work: string): void {
    void tell(`hipscope's server ended while it was ${work}. It was started again.`, {
      "Profile Again": "hipscope.profile",
      "Show Log": "hipscope.showLog",
    });
  }
}

async function tell(message: string, commands: Readonly<Record<string, string>>): Promise<void> {
  const chosen = await vscode.window.showErrorMessage(message, ...Object.keys(commands));
  const command = chosen === undefined ? undefined : commands[chosen];
  if (command !== undefined) await vscode.commands.executeCommand(command);
}
