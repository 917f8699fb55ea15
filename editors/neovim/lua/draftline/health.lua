--- `:checkhealth draftline`: from Neovim to the model, and why nothing appeared last.

local health = vim.health

local M = {}

local ANSWER_MS = 2000

local function check_neovim()
  if vim.fn.has('nvim-0.12') == 0 then
    health.error('Neovim is too old', 'Update to Neovim 0.12 or newer')
  elseif not vim.tbl_get(require('vim.lsp._capability'), 'all', 'inline_completion', 'active') then
    health.error(
      'This Neovim keeps its ghost text in another way than this plugin knows',
      'Update the plugin, or use the configuration without a plugin (editors/README.md)'
    )
  else
    health.ok(('Neovim %s has inline completion'):format(vim.version()))
  end
end

local function check_program()
  local configured = vim.lsp.config.draftline
  local cmd = configured and configured.cmd
  if not cmd then
    health.error('The plugin is not set up', "Call require('draftline').setup() in init.lua")
  elseif vim.fn.executable(cmd[1]) == 0 then
    health.error(
      ('`%s` cannot be run'):format(cmd[1]),
      "Put draftline on the PATH, or name it: require('draftline').setup({ cmd = { '/path/to/draftline', 'serve' } })"
    )
  else
    health.ok(('`%s` is %s'):format(cmd[1], vim.fn.exepath(cmd[1])))
  end
end

local function check_keys()
  local tab = vim.fn.maparg('<Tab>', 'i', false, true).desc or ''
  if vim.startswith(tab, 'draftline: ') then
    health.ok('<Tab> takes ghost text')
  else
    health.info('<Tab> is mapped by something else: see `:help draftline-keys`')
  end
end

local function check_status()
  local status = require('draftline').status()
  if status.state == 'error' then
    health.error(status.message, status.remedy)
  elseif status.state == 'ready' then
    health.ok(status.message)
  else
    health.warn(('%s: %s'):format(status.state, status.message))
  end
end

local function list_reasons(client)
  local answer = client:request_sync('workspace/executeCommand', { command = 'draftline.explain' }, ANSWER_MS)
  for _, entry in ipairs(answer and answer.result and answer.result.reasons or {}) do
    local name = vim.fn.fnamemodify(vim.uri_to_fname(entry.uri), ':.')
    health.info(('%s, %.0f s ago: %s'):format(name, entry.secondsAgo, entry.sentence))
  end
end

function M.check()
  health.start('draftline')
  check_neovim()
  check_program()
  check_keys()
  check_status()
  local clients = vim.lsp.get_clients({ name = 'draftline' })
  if #clients == 0 then
    health.warn('The server does not run', { 'Open a file', 'Run `draftline doctor` in a shell' })
    return
  end
  health.start('draftline: when nothing was shown, the newest first')
  vim.iter(clients):each(list_reasons)
end

return M
