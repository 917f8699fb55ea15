--- The ghost text that Neovim shows: what is left of it at the cursor, and taking it, as a whole or in steps.
---
--- vim.lsp.inline_completion takes items as a whole, where they were asked for, and cannot be asked what it shows
--- (neovim/neovim#36529). Its object of a buffer can, but is not public: this file alone touches it.

local api = vim.api
local step = require('draftline.step')

local M = {}

--- What Neovim keeps of the current buffer; nil where no server of it has ghost text.
local function kept()
  return require('vim.lsp._capability').all.inline_completion.active[api.nvim_get_current_buf()]
end

local function is_ours(item)
  local client = item and vim.lsp.get_client_by_id(item.client_id)
  return client ~= nil and client.name == 'draftline'
end

--- What stands between the item's start and the cursor; nil where there is nothing such.
local function written(item)
  local row, column = item.range:to_extmark()
  local cursor = api.nvim_win_get_cursor(0)
  local is_behind = cursor[1] - 1 > row or (cursor[1] - 1 == row and cursor[2] >= column)
  if not is_behind or #api.nvim_buf_get_lines(0, row, row + 1, false)[1] < column then
    return nil
  end
  return table.concat(api.nvim_buf_get_text(0, row, column, cursor[1] - 1, cursor[2], {}), '\n')
end

--- What is left of an item: `text`, in place of what stands from `row`, `column` up to the cursor. Nil where something
--- else was typed.
local function left_of(item)
  local before = written(item)
  if not before then
    return nil
  end
  local cursor = api.nvim_win_get_cursor(0)
  if vim.startswith(item.insert_text, before) then
    return { text = item.insert_text:sub(#before + 1), row = cursor[1] - 1, column = cursor[2] }
  end
  local row, column, end_row, end_column = item.range:to_extmark()
  if end_row == cursor[1] - 1 and end_column == cursor[2] then -- blanks, which are too many or others
    return { text = item.insert_text, row = row, column = column }
  end
  return nil
end

--- What is left of the ghost text; nil where none of ours is shown.
function M.left()
  local completor = kept()
  local item = completor and completor.current
  local left = is_ours(item) and left_of(item) or nil
  return left and left.text ~= '' and left or nil
end

--- Whether the ghost text begins with more blanks than there are on the cursor's line, on which nothing else stands.
function M.is_indented()
  local left = M.left()
  local line = api.nvim_get_current_line()
  local is_blank = not line:sub(1, api.nvim_win_get_cursor(0)[2]):find('%S')
  local first = left and line:sub(1, left.column) .. left.text:match('^[^\n]*') or ''
  return left ~= nil and is_blank and vim.fn.strdisplaywidth(first:match('^%s*')) > vim.fn.strdisplaywidth(line)
end

--- Takes a step (a name in draftline.step) of the ghost text. What is left stays, and the server learns of the last.
function M.take(name)
  local completor, left = kept(), M.left()
  if not (completor and left) then
    return
  end
  local item = completor.current
  local piece = left.text:sub(1, step[name](left.text))
  completor:abort()
  local cursor = api.nvim_win_get_cursor(0)
  local lines = vim.split(piece, '\n')
  api.nvim_buf_set_text(0, left.row, left.column, cursor[1] - 1, cursor[2], lines)
  local row = left.row + #lines - 1
  local column = (#lines == 1 and left.column or 0) + #lines[#lines]
  api.nvim_win_set_cursor(0, { row + 1, column })
  if #piece < #left.text then
    item.insert_text = left.text:sub(#piece + 1)
    item.range = vim.range.extmark(api.nvim_get_current_buf(), row, column, row, column)
    completor.current = item
    completor:show()
  elseif item.command then
    vim.lsp.get_client_by_id(item.client_id):exec_cmd(item.command, { bufnr = api.nvim_get_current_buf() })
  end
end

--- Draws text that replaces blanks where it will stand: Neovim draws it from the cursor on, and cuts off its beginning.
local function draw_over_blanks(left)
  local lines = vim.split(left.text, '\n')
  local blanks = #lines[1]:match('^%s*')
  local virtual = vim.iter(lines):map(function(line)
    return { { line, 'ComplHint' } }
  end):totable()
  virtual[1][1][1] = lines[1]:sub(blanks + 1)
  local namespace = api.nvim_create_namespace('nvim.lsp.inline_completion')
  api.nvim_buf_set_extmark(0, namespace, left.row, left.column + blanks, {
    virt_text = virtual[1],
    virt_text_pos = 'overlay',
    virt_lines = { unpack(virtual, 2) },
  })
end

--- Has Neovim show only what can be taken. By itself it keeps ghost text along which a person does not type until the
--- next answer. Once.
function M.improve()
  local Completor = require('vim.lsp._capability').all.inline_completion
  local show = Completor.show
  function Completor:show(hint)
    if self.bufnr ~= api.nvim_get_current_buf() or not is_ours(self.current) then
      return show(self, hint)
    end
    local left = left_of(self.current)
    if left and left.column ~= api.nvim_win_get_cursor(0)[2] then
      self:hide()
      return draw_over_blanks(left)
    end
    self.current = left and self.current
    show(self, hint)
  end
end

--- Asks again, where somebody is typing: the model has become ready.
function M.ask()
  local completor = kept()
  if completor and api.nvim_get_mode().mode:sub(1, 1) == 'i' then
    completor:automatic_request()
  end
end

return M
