// restitch behind the edit tool of a Mastra workspace: node restitch-mastra.mjs TASK

import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { FileNotFoundError, LocalFilesystem, StaleFileError, WORKSPACE_TOOLS, Workspace } from '@mastra/core/workspace'
import { Engine, tools } from 'restitch'

const { EDIT_FILE } = WORKSPACE_TOOLS.FILESYSTEM

/** The files of a workspace as a store of restitch; a file's version is its time. */
export function store(filesystem) {
  return {
    async load(path) {
      try {
        const { modifiedAt } = await filesystem.stat(path)
        return { bytes: Buffer.from(await filesystem.readFile(path)), version: modifiedAt.toISOString() }
      } catch (error) {
        if (error instanceof FileNotFoundError) return null
        throw error
      }
    },
    async storeIf(path, bytes, version) {
      try {
        if (bytes === null) await filesystem.deleteFile(path)
        else if (version === null) await filesystem.writeFile(path, bytes, { overwrite: false })
        else await filesystem.writeFile(path, bytes, { expectedMtime: new Date(version) })
        return true
      } catch (error) {
        if (error instanceof StaleFileError || error.name === 'FileExistsError') return false
        throw error
      }
    },
  }
}

/** The workspace's own edit tool, made by restitch, and `undo`. */
export function restitchTools(filesystem) {
  const engine = new Engine({ store: store(filesystem) })
  const { edit_file, undo } = tools(engine)
  return { [EDIT_FILE]: createTool({ id: EDIT_FILE, ...edit_file }), undo: createTool({ id: 'undo', ...undo }) }
}

if (import.meta.filename === process.argv[1]) {
  const provider = createOpenAICompatible({ name: 'openai', baseURL: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY })
  const filesystem = new LocalFilesystem({ basePath: '.' })
  const workspace = new Workspace({ filesystem, tools: { [EDIT_FILE]: { enabled: false } } })
  await workspace.init()
  const agent = new Agent({
    id: 'editor',
    name: 'editor',
    instructions: 'Edit the files.',
    model: provider('gpt-5.2'),
    workspace,
    tools: restitchTools(filesystem),
  })
  const { text } = await agent.generate(process.argv[2], { maxSteps: 100 })
  console.log(text)
}
