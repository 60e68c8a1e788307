export * from './results.cjs'
import type { Applied, Code, Corrected, Edit, EditOptions, Refused, Rung, Span } from './results.cjs'

/**
 * What to do about a new syntax error: `warn` reports it; `veto` (the default) also refuses the edit
 * if a correction by restitch caused it; `off` checks no syntax.
 */
export type SyntaxMode = 'off' | 'warn' | 'veto'

export interface ApplyOptions {
  /** Tells the language and appears in the diff; no file is read. */
  path?: string
  syntax?: SyntaxMode
}

/** A file after an edit. */
export declare class Edited {
  private constructor()
  readonly ok: true
  readonly path: string
  readonly rung: Rung
  readonly rewrites: string[]
  readonly replacements: number
  readonly warnings: string[]
  readonly spans: Span[]
  readonly corrected: Corrected | null
  readonly diff: string
  readonly anchors: string[]
  readonly revision: number | null
  readonly durability: 'durable' | 'unknown' | 'dry_run' | 'staged'
  /** The text for a model. */
  readonly message: string
  unwrap(): this
}

/** Lines of a file, as they are shown to a model. */
export declare class ReadText {
  private constructor()
  readonly ok: true
  readonly path: string
  readonly text: string
  readonly totalLines: number
  readonly snapshot: string
  readonly encoding: string
  readonly lineEnding: string
  /** The text for a model. */
  readonly message: string
  unwrap(): this
}

/** A commit that was taken back, file by file. */
export declare class Undone {
  private constructor()
  readonly ok: true
  readonly revision: number
  readonly files: Edited[]
  readonly message: string
  unwrap(): this
}

/** Replaces `old` by `new_` in a text, as a model meant it; touches no file. */
export declare function apply(text: string, old: string, new_: string, options?: EditOptions & ApplyOptions): Applied | Refused
/** The same for the bytes of a file, which stay in their encoding. */
export declare function apply(text: Uint8Array, old: string, new_: string, options?: EditOptions & ApplyOptions): Applied<Buffer> | Refused

/** Applies edits that all refer to the text as it is given, all or none of them. */
export declare function applyMany(text: string, edits: Edit[], options?: ApplyOptions): Applied | Refused
export declare function applyMany(text: Uint8Array, edits: Edit[], options?: ApplyOptions): Applied<Buffer> | Refused

/** Files of your own: a sandbox, a database, an editor's buffers. */
export interface Store {
  /** The bytes and an id of this version, such as an ETag; `null` if there is no file. */
  load(path: string): Promise<Loaded | null> | Loaded | null
  /**
   * Writes the file if its current version is `version`, where `null` means no file. `bytes` of `null`
   * removes the file. Returns whether the file was written or removed.
   */
  storeIf(path: string, bytes: Buffer | null, version: string | null): Promise<boolean> | boolean
}

export interface Loaded {
  bytes: Buffer
  version: string
}

/** A question to a model. */
export interface Question {
  system: string
  prompt: string
  schemaName: string
  /** JSON schema of the answer, in the strict subset. */
  schema: Record<string, unknown>
  maxTokens: number
  /** How many seconds are left for this call. */
  timeout: number
}

/** Answers a question with the JSON that its schema asks for. */
export type Model = (question: Question) => Promise<string> | string

export interface FolderOptions {
  /** The folder; nothing outside it is touched. */
  root: string
  /** The folder for history and journals, by default that of the `restitch` command. */
  state?: string
  /** Protected paths that may be written nevertheless. */
  allowProtected?: string[]
  syntax?: SyntaxMode
  model?: Model
}

export interface StoreOptions {
  store: Store
  /** The folder that absolute paths are relative to. */
  root?: string
  syntax?: SyntaxMode
  model?: Model
}

export type EngineOptions = FolderOptions | StoreOptions

export type Format = 'openai' | 'openai-responses' | 'anthropic' | 'gemini' | 'mcp'

/** The answer of a tool. */
export interface Reply {
  ok: boolean
  code: Code | null
  /** The text for a model. */
  message: string
  report: Record<string, any>
}

export interface CallOptions {
  /** Decide and report, but write nothing. */
  dryRun?: boolean
  /** A call with an id that was used before returns the first result again. */
  requestId?: string
}

/** Edits files below a root, or in a store. One engine is one session. */
export declare class Engine {
  constructor(options: string | EngineOptions)
  /** Runs a tool as a model calls it: one of `tools()`, also under its name in other agents. */
  call(name: string, args: Record<string, unknown> | string, options?: CallOptions): Promise<Reply>
  /** The declarations of the tools for that interface. */
  tools(format?: Format): Record<string, any>[]
  /** Replaces `old` by `new_` in a file; an empty `old` creates it. */
  edit(path: string, old: string, new_: string, options?: EditOptions & { dryRun?: boolean }): Promise<Edited | Refused>
  /** Reads a file or some of its lines. */
  read(path: string, options?: { offset?: number; limit?: number; style?: 'plain' | 'numbered' | 'hashline' }): Promise<ReadText | Refused>
  /** Takes back the last edit of this engine, or the one with this revision. */
  undo(revision?: number): Promise<Undone | Refused>
}

/** A tool in the form that the `ai` SDK and Mastra accept. */
export interface AgentTool {
  description: string
  inputSchema: any
  execute(input: any): Promise<string>
}

/** The tools for the Vercel `ai` SDK and for Mastra: `tools: tools({ root: '.' })`. */
export declare function tools(options: Engine | (EngineOptions & { tools?: string[] })): Record<string, AgentTool>

export declare const version: string
