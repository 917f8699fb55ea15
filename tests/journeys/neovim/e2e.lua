-- Plays a scenario in a headless Neovim as a person would: keys go through the real event loop, nothing is called
-- that a user's configuration does not call. Every wait is bounded.
--
-- E2E_SCENARIO names a JSON file: a list of steps, one field each:
--   {"keys": "A<CR>return ", "pace_ms": 30}   types, one key every pace_ms
--   {"pause_ms": 300}                         lets the editor live
--   {"await": "client" | "request" | "ghost" | "no ghost" | "quiet" | "command"}
--   {"run": "draftline stop"}                 runs a program to its end, beside the editor
--   {"snapshot": "name"}                      keeps what the editor shows now under that name
-- E2E_REPORT names the JSON file to write: ok, failure, encoding, nudges, requests, snapshots, lsp_log.

local uv = vim.uv
local WAIT_MS = { client = 20000, request = 5000, ghost = 60000, ['no ghost'] = 5000, quiet = 60000, command = 10000 }
local QUIET_MS = 350 -- longer than Neovim's own wait of 200 ms after a key

local started = uv.now()
local report = { ok = false, nudges = 0, requests = {}, snapshots = vim.empty_dict() }
local last_event = uv.now()
local steps ---@type thread

local function elapsed()
  return uv.now() - started
end

local function continue()
  local alive, message = coroutine.resume(steps)
  if not alive then
    error(debug.traceback(steps, message))
  end
end

local function sleep(ms)
  vim.defer_fn(continue, ms)
  coroutine.yield()
end

-- What is shown ------------------------------------------------------------------------------------------------

local function joined(chunks)
  return vim.iter(chunks):map(function(chunk)
    return chunk[1]
  end):join('')
end

--- The ghost text as a person reads it, and where it stands; nil where there is none.
local function ghost()
  local namespace = vim.api.nvim_get_namespaces()['nvim.lsp.inline_completion']
  local mark = namespace and vim.api.nvim_buf_get_extmarks(0, namespace, 0, -1, { details = true })[1]
  if not mark then
    return nil
  end
  local lines = { joined(mark[4].virt_text or {}) }
  for _, line in ipairs(mark[4].virt_lines or {}) do
    table.insert(lines, joined(line))
  end
  return { row = mark[2], column = mark[3], text = table.concat(lines, '\n') }
end

local function snapshot()
  local cursor = vim.api.nvim_win_get_cursor(0)
  return {
    at_ms = elapsed(),
    mode = vim.api.nvim_get_mode().mode,
    lines = vim.api.nvim_buf_get_lines(0, 0, -1, false),
    row = cursor[1] - 1,
    column = cursor[2],
    ghost = ghost(),
  }
end

-- What goes over the wire --------------------------------------------------------------------------------------

local function kind_of(failure, result)
  if failure then
    return 'error'
  end
  if not result then
    return 'null'
  end
  return #(result.items or result) > 0 and 'items' or 'empty'
end

--- Notes every request of the client, and what came back.
local function watch(client)
  local send = client.request
  client.request = function(self, method, params, handler, bufnr)
    local noted = { method = method, sent_ms = elapsed(), line = vim.api.nvim_get_current_line() }
    noted.character = params.position and params.position.character
    noted.command = params.command
    table.insert(report.requests, noted)
    last_event = uv.now()
    return send(self, method, params, function(failure, result, ...)
      last_event = uv.now()
      noted.answered_ms = elapsed()
      noted.answer = kind_of(failure, method == 'textDocument/inlineCompletion' and result or nil)
      noted.failure = failure and failure.message
      noted.line_when_answered = vim.api.nvim_get_current_line()
      return (handler or function() end)(failure, result, ...)
    end, bufnr)
  end
end

local function pending(method)
  return vim.iter(report.requests):any(function(request)
    return not request.answered_ms and (not method or request.method == method)
  end)
end

local function is_quiet()
  return not pending() and uv.now() - last_event > QUIET_MS
end

-- Steps --------------------------------------------------------------------------------------------------------

local conditions = {
  client = function()
    local client = vim.lsp.get_clients({ bufnr = 0, method = 'textDocument/inlineCompletion' })[1]
    return client ~= nil and client.initialized
  end,
  request = function()
    return pending('textDocument/inlineCompletion')
  end,
  ghost = function()
    if is_quiet() and not ghost() then -- nothing more will come by itself; a person would go on, too
      report.nudges = report.nudges + 1
      last_event = uv.now()
      vim.api.nvim_input('<Esc>a')
    end
    return ghost() ~= nil and not pending()
  end,
  ['no ghost'] = function()
    return ghost() == nil
  end,
  quiet = is_quiet,
  command = function()
    return not pending('workspace/executeCommand')
      and vim.iter(report.requests):any(function(request)
        return request.method == 'workspace/executeCommand'
      end)
  end,
}

local function await(what)
  local deadline = uv.now() + WAIT_MS[what]
  while not conditions[what]() do
    if uv.now() > deadline then
      error(('waited %d ms for: %s'):format(WAIT_MS[what], what), 0)
    end
    sleep(10)
  end
end

local function split_keys(notation)
  local keys = {}
  while notation ~= '' do
    local key = notation:match('^<[^<>]+>') or vim.fn.strcharpart(notation, 0, 1)
    table.insert(keys, key)
    notation = notation:sub(#key + 1)
  end
  return keys
end

--- The timer types by itself: in the middle of a command (after `g`, say) Neovim runs no other callbacks.
local function type_keys(notation, pace_ms)
  local keys = split_keys(notation)
  local timer = assert(uv.new_timer())
  local typed = 0
  timer:start(0, pace_ms, function()
    typed = typed + 1
    last_event = uv.now()
    if typed <= #keys then
      vim.api.nvim_input(keys[typed])
    else
      timer:close()
      vim.schedule(continue)
    end
  end)
  coroutine.yield()
end

local function run(command)
  local result
  vim.system(vim.split(command, ' '), { text = true, timeout = 30000 }, function(done)
    result = done
    vim.schedule(continue)
  end)
  coroutine.yield()
  assert(result.code == 0, ('%s: exit code %d: %s'):format(command, result.code, result.stderr))
end

local function play(scenario)
  await('client')
  local client = vim.lsp.get_clients({ bufnr = 0 })[1]
  report.encoding = client.offset_encoding
  watch(client)
  for _, step in ipairs(scenario) do
    if step.keys then
      type_keys(step.keys, step.pace_ms or 30)
    elseif step.pause_ms then
      sleep(step.pause_ms)
    elseif step.run then
      run(step.run)
    elseif step.await then
      await(step.await)
    else
      report.snapshots[step.snapshot] = snapshot()
    end
  end
end

-- The end ------------------------------------------------------------------------------------------------------

local function read_file(path)
  local file = assert(io.open(path, 'rb'))
  local content = file:read('*a')
  file:close()
  return content
end

local function log_tail()
  local found, content = pcall(read_file, vim.lsp.log.get_filename())
  return found and content:sub(-4000) or ''
end

local function finish(played, failure)
  report.ok = played
  if not played then
    report.failure = failure
    report.snapshots.failure = snapshot()
    report.messages = vim.fn.execute('messages')
    report.clients = vim.iter(vim.lsp.get_clients()):map(function(client)
      return { name = client.name, initialized = client.initialized, stopped = client:is_stopped() }
    end):totable()
    report.lsp_log = log_tail()
  end
  local file = assert(io.open(vim.env.E2E_REPORT, 'wb'))
  file:write(vim.json.encode(report))
  file:close()
  vim.cmd(played and 'qall!' or 'cquit 1')
end

steps = coroutine.create(function()
  local scenario = vim.json.decode(read_file(vim.env.E2E_SCENARIO))
  finish(xpcall(play, function(message)
    return debug.traceback(message)
  end, scenario))
end)
vim.schedule(continue)
