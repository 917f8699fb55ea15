--- draftline in Neovim: the server, its ghost text, keys, and how it is. See `:help draftline`.

local M = {}

local DEFAULTS = {
  cmd = { 'draftline', 'serve' },
  filetypes = nil, -- all
  settings = {}, -- of the server: enabled, languages, multiline, ...
  keys = { all = '<Tab>', word = '<C-Right>', line = '<C-Down>' }, -- false: none
}

local is_set_up = false
local latest = { state = 'none', message = 'no file has started the server yet', model = '' }

--- What the server has said last: state (none, loading, ready, paused, error), message, model, and remedy of an error.
function M.status()
  return latest
end

local function follow(_, status)
  latest = status
  vim.api.nvim_exec_autocmds('User', { pattern = 'DraftlineStatus', data = status, modeline = false })
  if status.state == 'ready' then
    require('draftline.ghost').ask()
  end
end

--- Starts the server for every file, shows ghost text and maps the keys, once. `options` are laid over the defaults.
function M.setup(options)
  if is_set_up then
    return -- the keys would take themselves for what they were before
  end
  options = vim.tbl_deep_extend('force', DEFAULTS, options or {})
  if vim.fn.has('nvim-0.12') == 0 then
    vim.notify('draftline needs Neovim 0.12 or newer: update Neovim', vim.log.levels.ERROR)
    return
  end
  is_set_up = true
  vim.lsp.config('draftline', {
    cmd = options.cmd,
    filetypes = options.filetypes,
    capabilities = { experimental = { draftline = { replaces = true } } }, -- ghost.lua draws it; Neovim alone does not
    settings = { draftline = options.settings },
    handlers = { ['draftline/status'] = follow },
  })
  vim.lsp.enable('draftline')
  vim.lsp.inline_completion.enable(true)
  require('draftline.ghost').improve()
  for name, key in pairs(options.keys) do
    if key then
      require('draftline.keys').map(key, name)
    end
  end
end

return M
