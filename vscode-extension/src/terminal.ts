// A command that a button has offered, run where the user sees it and can give a password.
import * as vscode from "vscode";

/** Runs a command of the shell in a terminal; whether it ended well. */
export async function runInTerminal(command: string): Promise<boolean> {
  const scope = vscode.workspace.workspaceFolders?.length
    ? vscode.TaskScope.Workspace
    : vscode.TaskScope.Global;
  const shell = new vscode.ShellExecution(command);
  const task = new vscode.Task({ type: "hipscope" }, scope, "install", "hipscope", shell);
  task.presentationOptions = { focus: true, panel: vscode.TaskPanelKind.Dedicated };
  return new Promise((resolve) => {
    let execution: vscode.TaskExecution | undefined;
    const ended = vscode.tasks.onDidEndTaskProcess((end) => {
      if (end.execution !== execution && end.execution.task !== task) return;
      ended.dispose();
      resolve(end.exitCode === 0);
    });
    void vscode.tasks.executeTask(task).then((started) => (execution = started));
  });
}
