-- Drives `hipscope lsp` from Neovim's own client, set up as the documentation says, and prints one JSON object of what it
-- saw. HIPSCOPE_FILE: the program to open.
local seen = {}
local function finish(code)
  io.stdout:write(vim.fn.json_encode(seen) .. "\n")
  vim.cmd("cquit " .. code)
end
local function fail(why)
  seen.failure = why
  finish(1)
end

vim.cmd("edit " .. vim.env.HIPSCOPE_FILE)
local buffer = vim.api.nvim_get_current_buf()
seen.filetype = vim.bo.filetype
if not vim.wait(20000, function() return next(vim.lsp.buf_get_clients(buffer)) ~= nil end, 20) then fail("not attached") end
local id, client = next(vim.lsp.buf_get_clients(buffer))
if not vim.wait(20000, function() return client.initialized end, 20) then fail("not initialized") end

vim.cmd("write!")
if not vim.wait(20000, function() return #vim.diagnostic.get(buffer) > 0 end, 20) then fail("no diagnostics") end
seen.diagnostics = vim.tbl_map(function(d) return { line = d.lnum, message = d.message } end, vim.diagnostic.get(buffer))

local here = { textDocument = { uri = vim.uri_from_bufnr(buffer) }, position = { line = 3, character = 6 } }
seen.hover = vim.lsp.buf_request_sync(buffer, "textDocument/hover", here, 5000)[id].result.contents.value
local lenses = vim.lsp.buf_request_sync(buffer, "textDocument/codeLens", { textDocument = here.textDocument }, 5000)
seen.lenses = vim.tbl_map(function(lens) return lens.command.title end, lenses[id].result)

local range = { start = here.position, ["end"] = here.position }
local asked = { textDocument = here.textDocument, range = range, context = { diagnostics = {} } }
local actions = vim.lsp.buf_request_sync(buffer, "textDocument/codeAction", asked, 5000)[id].result
seen.actions = vim.tbl_map(function(action) return action.title end, actions)
-- The user's answer to the question whether the verified rewrite is applied.
vim.fn.inputlist = function(lines) seen.question = lines; return 1 end
seen.answer = vim.lsp.buf_request_sync(buffer, "workspace/executeCommand", actions[1].command, 20000)[id].result
local function line() return vim.api.nvim_buf_get_lines(buffer, 3, 4, false)[1] end
vim.wait(20000, function() return line():find("/*fast*/", 1, true) ~= nil end, 20)
seen.line = line()

vim.lsp.stop_client(id)
seen.stopped = vim.wait(5000, function() return vim.lsp.client_is_stopped(id) end, 20)
finish(0)
