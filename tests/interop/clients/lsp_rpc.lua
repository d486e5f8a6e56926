-- Neovim's LSP client, which starts its server itself: through `subagentd --stdio`.
local events, pid, refused = 0, nil, nil
local dispatchers = {
  notification = function(method) if method == 'event' then events = events + 1 end end,
  on_error = function(code, error) io.stderr:write(vim.inspect({ code, error })) end,
}
local command = { os.getenv('DAEMON_PROGRAM'), '--stdio' }
local rpc = vim.fn.has('nvim-0.11') == 1 and vim.lsp.rpc.start(command, dispatchers)
  or vim.lsp.rpc.start(command[1], { command[2] }, dispatchers)
rpc.request('daemon/status', vim.empty_dict(), function(_, result) pid = result and result.daemon.pid end)
rpc.request('no/such', vim.empty_dict(), function(error) refused = error ~= nil end)
rpc.request('session/create', { workspace = os.getenv('WORKSPACE') }, function(_, result)
  rpc.request('session/attach', { sessionId = result.sessionId, from = 'start' }, function() end)
end)
local done = vim.wait(10000, function() return pid and refused and events > 0 end)
io.stdout:write(string.format('"pid":%d\n', pid or 0))
os.exit(done and 0 or 1)
