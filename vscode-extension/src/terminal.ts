// A command that a button has offered, run where the user sees it and can give a password.
import * as vscode from "vscode";

export function runInTerminal(command: string): void {
  const terminal = vscode.window.createTerminal("hipscope");
  terminal.show();
  terminal.sendText(command);
}
