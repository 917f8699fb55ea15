--- How many bytes of a text one step takes. Nothing of an editor's state is needed, or known.

local M = {}

--- Vim's classes of kanji, hiragana and katakana, which have no blanks between words, and of emoji: one at a time.
local SINGLE = { [0x4e00] = true, [0x3040] = true, [0x30a0] = true, [3] = true }

function M.all(text)
  return #text
end

--- To the end of the first line on which something stands.
function M.line(text)
  return #text:match('^%s*[^\n]*')
end

--- The blanks, and then a word, a run of punctuation, or one character of those that stand for themselves.
function M.word(text)
  local size = #text:match('^%s*')
  local run
  for _, character in ipairs(vim.fn.split(text:match('%S*', size + 1), [[\zs]])) do -- with what combines with it
    local class = vim.fn.charclass(character)
    if run and (class ~= run or SINGLE[class]) then
      break
    end
    run = class
    size = size + #character
  end
  return size
end

return M
