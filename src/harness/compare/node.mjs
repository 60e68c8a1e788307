// Runs cases through one tool's own edit function. One JSON object a line in, one out.
// Usage: node node.mjs TOOL NODE_MODULES SCRATCH
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [tool, modules, scratch] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(path.join(modules, file)).href);
// Telemetry and settings are not what is compared: everything asked of them is nothing.
const nothing = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => '' : name === 'then' ? undefined : nothing),
  apply: () => nothing,
});
const quiet = console.error;
console.log = console.warn = console.info = console.debug = quiet;

const onDisk = async (name, before, edit) => {
  const file = path.join(scratch, name);
  fs.writeFileSync(file, Buffer.from(before, 'utf8'));
  await edit(file);
  return fs.readFileSync(file);
};

const tools = {
  async 'mcp-filesystem'() {
    const lib = await load('@modelcontextprotocol/server-filesystem/dist/lib.js');
    lib.setAllowedDirectories([scratch]);
    return (c) => onDisk(c.name, c.before, (file) => lib.applyFileEdits(file, [{ oldText: c.old, newText: c.new }], false));
  },
  async pi() {
    const { createEditTool } = await load('@mariozechner/pi-coding-agent/dist/core/tools/edit.js');
    const edit = createEditTool(scratch);
    return (c) => onDisk(c.name, c.before, (file) => edit.execute('1', { path: file, edits: [{ oldText: c.old, newText: c.new }] }));
  },
  async 'gemini-cli'() {
    const lib = await load('@google/gemini-cli-core/dist/src/tools/edit.js');
    return async (c) => {
      const raw = c.before;
      const crlf = raw.includes('\r\n');
      const currentContent = raw.replace(/\r\n/g, '\n');
      const params = { file_path: c.name, instruction: '', old_string: c.old, new_string: c.new };
      const result = await lib.calculateReplacement(nothing, { params, currentContent, abortSignal: new AbortController().signal });
      const error = lib.getErrorReplaceResult(params, result.occurrences, result.finalOldString, result.finalNewString);
      if (error || result.newContent === currentContent) throw new Error(error?.raw ?? 'no change');
      return Buffer.from(crlf ? result.newContent.replace(/\n/g, '\r\n') : result.newContent);
    };
  },
};

const run = await tools[tool]();
for await (const line of readline.createInterface({ input: process.stdin })) {
  const c = JSON.parse(line);
  let reply;
  try {
    reply = { id: c.id, after: (await run(c)).toString('utf8') };
  } catch (error) {
    reply = { id: c.id, error: String(error?.message ?? error).slice(0, 200) };
  }
  process.stdout.write(JSON.stringify(reply) + '\n');
}
process.exit(0);
