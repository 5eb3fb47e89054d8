-- Use the language server in Neovim as a user does, and print the result of each step.

local function step(name, act)
  local begun = vim.uv.now()
  local ok, note = pcall(act)
  vim.uv.update_time()
  local line = { step = name, ok = ok, note = tostring(note or ""), seconds = (vim.uv.now() - begun) / 1000 }
  io.stdout:write(vim.json.encode(line) .. "\n")
end

local function wait(what, found)
  assert(vim.wait(60000, found, 50), "no " .. what)
end

local function keys(text)
  vim.api.nvim_feedkeys(vim.keycode(text), "mx", false)
end

local function go_to(word)
  vim.fn.cursor(1, 1)
  assert(vim.fn.search(word, "c") > 0, word)
end

step("attach", function()
  wait("client", function() return #vim.lsp.get_clients({ name = "jetsql", bufnr = 0 }) == 1 end)
end)

step("diagnostics", function()
  wait("diagnostics", function() return #vim.diagnostic.get(0) > 0 end)
  local first = vim.diagnostic.get(0)[1]
  assert(first.lnum == 3 and first.col == 0 and first.code == "JETSQL.PARSE_SYNTAX_ERROR", vim.inspect(first))
  return first.message
end)

step("hover", function()
  go_to("snapshotInterval")
  keys("K")
  local text = ""
  wait("hover", function()
    for _, window in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(window).relative ~= "" then
        text = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), " ")
      end
    end
    return text ~= ""
  end)
  assert(text:find("snapshotIntervalMillis"), text)
  return text:sub(1, 100)
end)

step("definition", function()
  vim.cmd("fclose!")
  vim.fn.cursor(5, 16)
  keys("<C-]>")
  wait("definition", function() return vim.fn.line(".") < 5 end)
  return vim.fn.line(".") .. ":" .. vim.fn.col(".") .. " " .. vim.fn.getline(".")
end)

step("references", function()
  go_to("orders")
  keys("grr")
  wait("references", function() return #vim.fn.getqflist() > 0 end)
  vim.cmd("cclose")
  return #vim.fn.getqflist() .. ""
end)

step("completion", function()
  assert(vim.bo.omnifunc == "v:lua.vim.lsp.omnifunc", vim.bo.omnifunc)
  vim.fn.cursor(6, 13)
  local params = vim.lsp.util.make_position_params(0, "utf-16")
  params.position = { line = 5, character = 12 }
  local found = vim.lsp.buf_request_sync(0, "textDocument/completion", params, 30000)
  local labels = {}
  for _, each in pairs(found) do
    for _, item in ipairs(each.result.items or each.result) do labels[#labels + 1] = item.label end
  end
  assert(vim.list_contains(labels, "big"), vim.inspect(labels))
  return table.concat(labels, " ")
end)

step("quick_fix", function()
  vim.ui.select = function(items, _, choose) choose(items[1], 1) end
  vim.fn.cursor(4, 6)
  keys("gra")
  wait("quick fix", function() return vim.fn.getline(4) ~= "SUSPND JOB big;" end)
  assert(vim.fn.getline(4) == "SUSPEND JOB big;", vim.fn.getline(4))
  wait("end of the problem", function() return #vim.diagnostic.get(0, { lnum = 3 }) == 0 end)
end)

step("format_selection", function()
  vim.fn.cursor(3, 1)
  assert(vim.bo.formatexpr == "v:lua.vim.lsp.formatexpr()", vim.bo.formatexpr)
  -- Neovim waits for half a second at most.
  wait("format", function()
    keys("gqq")
    return vim.fn.line("$") > 6
  end)
  return vim.fn.getline(4)
end)

step("format", function()
  vim.cmd("edit! other.sql")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "show   jobs;" })
  wait("client", function() return #vim.lsp.get_clients({ name = "jetsql", bufnr = 0 }) == 1 end)
  vim.lsp.buf.format()
  assert(vim.fn.getline(1) == "SHOW JOBS;", vim.fn.getline(1))
end)

vim.cmd("qall!")
