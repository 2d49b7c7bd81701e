vim.api.nvim_create_user_command("Hipscope", function(given) require("hipscope").command(given.args) end, {
  nargs = 1,
  complete = function() return require("hipscope").names() end,
})
