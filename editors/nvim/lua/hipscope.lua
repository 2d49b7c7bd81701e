-- hipscope in Neovim 0.7 or newer: starts `hipscope lsp`, tints hot lines with their share as virtual text, keeps code
-- lenses fresh, and has `:Hipscope`. Needs no other plugin.
local M = {}
local spaces = vim.api.nvim_create_namespace("hipscope")
local marks = vim.api.nvim_create_namespace("hipscope.isa")
local id -- of the client
local listings = {} -- the machine code that a buffer shows
local BANDS = { 0.01, 0.05, 0.15, 0.3, 0.5 }
local COLOURS = { "#3a3524", "#4a3d1e", "#5a3f1a", "#6b3a18", "#7d2f1a" }

local function tell(message, level) vim.notify("hipscope: " .. message, level or vim.log.levels.INFO) end

local function band(share)
  local found = 0
  for index, least in ipairs(BANDS) do if share >= least then found = index end end
  return found
end

local function shade(buffer, line, share, words)
  if band(share) == 0 or line >= vim.api.nvim_buf_line_count(buffer) then return end
  local mark = { line_hl_group = "HipscopeHeat" .. band(share) }
  if words then mark.virt_text = { { words, "HipscopeHeatText" } } end
  vim.api.nvim_buf_set_extmark(buffer, spaces, line, 0, mark)
end

local function show_heat(_, heat)
  local buffer = vim.uri_to_bufnr(heat.uri)
  if not vim.api.nvim_buf_is_loaded(buffer) then return end
  vim.api.nvim_buf_clear_namespace(buffer, spaces, 0, -1)
  for _, hot in ipairs(heat.lines) do
    local words = string.format("%.0f %% %s%s", 100 * hot.share, hot.reason, hot.stale and " (stale)" or "")
    shade(buffer, hot.line, hot.share, words)
  end
  vim.api.nvim_buf_call(buffer, function() vim.lsp.codelens.refresh() end)
end

local function client() return id and vim.lsp.get_client_by_id(id) end

local function ask(method, params, use)
  local running = client()
  if not running then return tell("the server is not running: open a HIP file", vim.log.levels.WARN) end
  running.request(method, params, function(problem, answer)
    if problem then return tell(problem.message, vim.log.levels.WARN) end
    use(answer)
  end, vim.api.nvim_get_current_buf())
end

local function here()
  local at = vim.api.nvim_win_get_cursor(0)
  return { uri = vim.uri_from_bufnr(0), position = { line = at[1] - 1, character = at[2] } }
end

local function run(command, arguments)
  ask("workspace/executeCommand", { command = "hipscope.server." .. command, arguments = { arguments } }, function() end)
end

-- Marks in the other window what belongs to the line of the cursor.
local function follow()
  local buffer = vim.api.nvim_get_current_buf()
  local line = vim.api.nvim_win_get_cursor(0)[1] - 1
  for isa, listing in pairs(listings) do
    for _, window in ipairs(vim.api.nvim_tabpage_list_wins(0)) do
      local other = vim.api.nvim_win_get_buf(window)
      local wanted = {}
      if buffer == isa and other ~= isa then
        local one = listing.instructions[line]
        if one and one.uri ~= vim.NIL and vim.uri_to_bufnr(one.uri) == other then wanted = { one.line } end
      elseif buffer ~= isa and other == isa then
        for number, one in ipairs(listing.instructions) do
          if one.line == line and one.uri ~= vim.NIL and vim.uri_to_bufnr(one.uri) == buffer then table.insert(wanted, number) end
        end
      end
      if (buffer == isa) ~= (other == isa) then
        vim.api.nvim_buf_clear_namespace(other, marks, 0, -1)
        for _, at in ipairs(wanted) do
          if at < vim.api.nvim_buf_line_count(other) then
            vim.api.nvim_buf_set_extmark(other, marks, at, 0, { line_hl_group = "Visual" })
          end
        end
        if wanted[1] then vim.api.nvim_win_set_cursor(window, { wanted[1] + 1, 0 }) end
      end
    end
  end
end

function M.isa()
  ask("hipscope/isa", here(), function(listing)
    local lines = { string.format("; %s: share of %s cycles%s", listing.kernel, listing.provenance, listing.stale and ", of an older text" or "") }
    for _, one in ipairs(listing.instructions) do
      table.insert(lines, (one.share >= 0.005 and string.format("%3.0f %%  ", 100 * one.share) or "       ") .. one.text)
    end
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].filetype, vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = "asm", false, "wipe"
    listings[buffer] = listing
    for number, one in ipairs(listing.instructions) do shade(buffer, number, one.share) end
    vim.cmd("vertical sbuffer " .. buffer)
    vim.cmd("wincmd p")
    vim.api.nvim_create_autocmd("BufWipeout", { buffer = buffer, callback = function() listings[buffer] = nil end })
    follow()
  end)
end

function M.kernels()
  ask("hipscope/kernels", vim.empty_dict(), function(answer)
    local rows = {}
    for _, kernel in ipairs(answer.kernels) do
      local text = string.format("%s  %s%s", kernel.name, kernel.summary, kernel.stale and " · stale" or "")
      table.insert(rows, { filename = vim.uri_to_fname(kernel.uri), lnum = kernel.range.start.line + 1, col = 1, text = text })
    end
    vim.fn.setqflist({}, " ", { title = "GPU kernels by cost", items = rows })
    if #rows == 0 then tell("no profile yet: save a HIP program, or :Hipscope profile") else vim.cmd("copen") end
  end)
end

function M.arguments()
  local at = here()
  ask("hipscope/arguments", { uri = at.uri }, function(program)
    local given = #program.arguments > 0 and program.arguments
      or program.suggestions[1] and program.suggestions[1].arguments or {}
    vim.ui.input({ prompt = "Arguments of " .. program.name .. ": ", default = table.concat(vim.tbl_map(vim.fn.shellescape, given), " ") }, function(text)
      if text then run("setArguments", { uri = at.uri, arguments = text }) end
    end)
  end)
end

-- The kernel around the cursor, else the costliest of the program.
local function with_kernel(use)
  local at = here()
  ask("hipscope/kernels", { uri = at.uri }, function(answer)
    local chosen = answer.kernels[1]
    local nearest = -1
    for _, kernel in ipairs(answer.kernels) do
      local line = kernel.range.start.line
      if kernel.uri == at.uri and line <= at.position.line and line > nearest then chosen, nearest = kernel, line end
    end
    if chosen then use(chosen) else tell("no profile yet: save a HIP program, or :Hipscope profile") end
  end)
end

local function float(markdown)
  vim.lsp.util.open_floating_preview(vim.split(markdown, "\n"), "markdown", { focus_id = "hipscope", wrap = false })
end

function M.roofline()
  with_kernel(function(kernel)
    local asked = { textDocument = { uri = kernel.uri }, position = kernel.range.start }
    ask("textDocument/hover", asked, function(hover)
      if hover then float(hover.contents.value or hover.contents) end
    end)
  end)
end

function M.explain()
  ask("hipscope/explain", here(), function(answer) float(answer.markdown) end)
end

-- The project's profiles, newest first; Enter compares the one under the cursor with the newest.
function M.history()
  local uri = here().uri
  ask("hipscope/history", { uri = uri }, function(answer)
    local lines = {}
    for _, profile in ipairs(answer.profiles) do
      local kernels = {}
      for _, kernel in ipairs(profile.kernels) do
        table.insert(kernels, string.format("%s %.1f us", kernel.name, kernel.timeNs / 1000))
      end
      local name = profile.commit ~= "" and profile.commit:sub(1, 7) .. (profile.dirty and "+" or "") or "-"
      local when = profile.time:sub(1, 16):gsub("T", " ")
      table.insert(lines, string.format("%-8s  %s  %s", name, when, table.concat(kernels, ", ")))
    end
    if #lines == 0 then return tell("no profile yet: save a HIP program, or :Hipscope profile") end
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
    vim.bo[buffer].modifiable, vim.bo[buffer].bufhidden = false, "wipe"
    vim.cmd("botright sbuffer " .. buffer)
    vim.keymap.set("n", "<CR>", function()
      local old = answer.profiles[vim.api.nvim_win_get_cursor(0)[1]]
      run("compare", { uri = uri, a = old.id, b = answer.profiles[1].id })
    end, { buffer = buffer })
  end)
end

function M.open()
  vim.ui.input({ prompt = "Capture or saved report: ", completion = "file" }, function(path)
    if path then run("openProfile", { path = vim.fn.fnamemodify(path, ":p") }) end
  end)
end

local commands = {
  open = M.open, isa = M.isa, kernels = M.kernels, arguments = M.arguments, roofline = M.roofline, explain = M.explain,
  history = M.history, hover = function() vim.lsp.buf.hover() end,
}
for _, name in ipairs({ "profile", "check", "optimize", "bench", "restore", "cancel", "metrics" }) do
  commands[name] = function() run(name, here()) end
end

function M.command(name)
  local chosen = commands[name]
  if chosen then chosen() else tell("there is " .. table.concat(M.names(), ", "), vim.log.levels.WARN) end
end

function M.names()
  local names = vim.tbl_keys(commands)
  table.sort(names)
  return names
end

-- cmd: how the server is started. filetypes: where. Anything else goes to the server as its settings.
function M.setup(options)
  options = vim.tbl_extend("force", { cmd = { "hipscope", "lsp" }, filetypes = { "hip", "cuda", "cpp" } }, options or {})
  for index, colour in ipairs(COLOURS) do
    vim.api.nvim_set_hl(0, "HipscopeHeat" .. index, { bg = colour, default = true })
  end
  vim.api.nvim_set_hl(0, "HipscopeHeatText", { link = "Comment", default = true })
  local given = vim.tbl_extend("force", {}, options)
  given.cmd, given.filetypes = nil, nil
  given.heat, given.waitsForCommands = true, true
  local group = vim.api.nvim_create_augroup("hipscope", {})
  vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, { group = group, pattern = "*.hip", command = "set filetype=hip" })
  vim.api.nvim_create_autocmd("FileType", { group = group, pattern = options.filetypes, callback = function(event)
    if not (id and vim.lsp.get_client_by_id(id)) then
      id = vim.lsp.start_client({ name = "hipscope", cmd = options.cmd, root_dir = vim.fn.getcwd(), init_options = given,
        handlers = { ["hipscope/heat"] = show_heat } })
    end
    if id then vim.lsp.buf_attach_client(event.buf, id) end
  end })
  vim.api.nvim_create_autocmd("CursorMoved", { group = group, callback = function() if next(listings) then follow() end end })
end

return M
