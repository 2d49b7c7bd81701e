-- Drives the plugin of editors/nvim as a user does, and prints one JSON object of what it saw.
local seen = {}
local function finish(code)
  io.stdout:write(vim.fn.json_encode(seen) .. "\n")
  vim.cmd("cquit " .. code)
end
local function need(what, condition)
  if not vim.wait(20000, condition, 20) then
    seen.failure = what
    finish(1)
  end
end

vim.cmd("edit " .. vim.env.HIPSCOPE_FILE)
local buffer = vim.api.nvim_get_current_buf()
local source = vim.api.nvim_get_current_win()
local space = vim.api.nvim_create_namespace("hipscope")
local function shaded(of)
  return vim.api.nvim_buf_get_extmarks(of, space, 0, -1, { details = true })
end
need("attached", function() return next(vim.lsp.buf_get_clients(buffer)) ~= nil end)
need("initialized", function() local _, c = next(vim.lsp.buf_get_clients(buffer)); return c.initialized end)
vim.cmd("write!")
need("heat", function() return #shaded(buffer) == 2 end)
seen.heat = vim.tbl_map(function(mark) return { mark[2], mark[4].virt_text[1][1] } end, shaded(buffer))

vim.cmd("Hipscope kernels")
need("kernels", function() return #vim.fn.getqflist() > 0 end)
seen.kernels = vim.fn.getqflist()[1].text
vim.cmd("cclose")

vim.api.nvim_set_current_win(source)
vim.api.nvim_win_set_cursor(0, { 4, 0 })
vim.cmd("Hipscope isa")
need("isa", function() return #vim.api.nvim_tabpage_list_wins(0) == 2 end)
local isa
for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
  if window ~= source then isa = vim.api.nvim_win_get_buf(window) end
end
seen.isa = vim.api.nvim_buf_get_lines(isa, 0, -1, false)
local other = vim.api.nvim_create_namespace("hipscope.isa")
need("mark", function() return #vim.api.nvim_buf_get_extmarks(isa, other, 0, -1, {}) == 1 end)
seen.marked = vim.api.nvim_buf_get_extmarks(isa, other, 0, -1, {})[1][2]

vim.api.nvim_set_current_win(source)
local function floating()
  for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then return window end
  end
end
local function floated(command)
  vim.cmd("Hipscope " .. command)
  need(command, floating)
  local window = floating()
  local text = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), "\n")
  vim.api.nvim_win_close(window, true)
  return text
end
seen.roofline = floated("roofline")
seen.explained = floated("explain")

-- The row of a profile is kept behind its marks.
local function listed() return vim.api.nvim_get_current_win() ~= source end
for _ = 1, 100 do
  vim.cmd("Hipscope history")
  if vim.wait(200, listed, 20) then break end
end
need("history", listed)
seen.history = vim.api.nvim_buf_get_lines(0, 0, -1, false)
local ask_server = vim.lsp.get_client_by_id(1).request
vim.lsp.get_client_by_id(1).request = function(method, params, ...)
  if method == "workspace/executeCommand" then seen.compared = seen.compared or params end
  return ask_server(method, params, ...)
end
vim.api.nvim_feedkeys(vim.api.nvim_replace_termcodes("<CR>", true, false, true), "mx", false)
need("comparison", function() return seen.compared end)
vim.api.nvim_set_current_win(source)

vim.ui.input = function(options, use) seen.asked = options.prompt; use("64") end
vim.cmd("Hipscope arguments")
local function first() return vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1] end
need("arguments", function() return first() == "// hipscope: run 64" end)
finish(0)
