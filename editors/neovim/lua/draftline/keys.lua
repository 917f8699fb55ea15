--- Keys that take ghost text where there is some to take, and otherwise are what they were.

local ghost = require('draftline.ghost')

local M = {}

local BY_NEOVIM = 'vim.snippet.jump if active' -- so begins the description of its own mapping of Tab

--- What the key was before, under a name of its own: whatever it was, it works as it did. Returns whether a person (or
--- a plugin) had mapped it.
local function keep(key, plug)
  local before = vim.fn.maparg(key, 'i', false, true)
  local is_mapped = before.lhs ~= nil and before.buffer == 0
  if is_mapped then
    before.lhs, before.lhsraw, before.lhsrawalt = plug, vim.keycode(plug), nil
    vim.fn.mapset(before)
  else
    vim.keymap.set('i', plug, key)
  end
  return is_mapped and not vim.startswith(before.desc or '', BY_NEOVIM)
end

--- Whether the key that takes all has something else to do, though there is ghost text.
local function is_busy()
  return vim.snippet.active({ direction = 1 }) or ghost.is_indented()
end

--- Maps a key of insert mode to a step: all, word or line. Once a step.
function M.map(key, name)
  local take, otherwise = ('<Plug>(draftline-%s)'):format(name), ('<Plug>(draftline-no-%s)'):format(name)
  local is_own = keep(key, otherwise)
  vim.keymap.set('i', key, function()
    if not ghost.left() then
      return otherwise
    end
    local is_choosing = vim.fn.complete_info({ 'mode' }).mode ~= '' -- also where no menu is drawn
    if name == 'all' and is_choosing and not (is_own and vim.fn.pumvisible() == 1) then
      return '<Plug>(draftline-next)'
    end
    return name == 'all' and (is_choosing or is_busy()) and otherwise or take
  end, { expr = true, remap = true, desc = 'draftline: take ghost text: ' .. name })
end

--- `<Plug>(draftline-all)`, and so on: one undo each.
for _, name in ipairs({ 'all', 'word', 'line' }) do
  local command = ('<C-g>u<Cmd>lua require("draftline.ghost").take("%s")<CR><C-g>u'):format(name)
  vim.keymap.set('i', ('<Plug>(draftline-%s)'):format(name), command)
end
vim.keymap.set('i', '<Plug>(draftline-next)', '<C-n>')

return M
