// Starts `cvmgen lsp` for formulas and schedules, and ends it with the window.
"use strict";

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function activate() {
  const settings = workspace.getConfiguration("cvmgen");
  const folder = workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const placed = (text) => text.replace("${workspaceFolder}", folder);
  const spec = placed(settings.get("spec"));
  const server = {
    command: placed(settings.get("command")),
    args: ["lsp", "--stdio", ...(spec ? ["--spec", spec] : [])],
  };
  client = new LanguageClient("cvmgen", "cvmgen", server, {
    documentSelector: [{ language: "cvm" }, { language: "cvm-schedule" }],
    synchronize: { fileEvents: workspace.createFileSystemWatcher("**/*.{cvm,sched}") },
  });
  await client.start();
}

function deactivate() {
  return client?.stop();
}

module.exports = { activate, deactivate };
