/** How an edit is to be read, beside its two texts. */
export interface EditOptions {
  /** Replace every occurrence. */
  replaceAll?: boolean
  /** How often `old` occurs and shall be replaced; 1 unless said otherwise. */
  expected?: number
  /** A line near which the text stands; breaks a tie. */
  nearLine?: number
}

/** One replacement of text by text. */
export interface Edit extends EditOptions {
  old: string
  new: string
}

/** Names the language, and stands in the diff; nothing is looked at there. */
export interface ApplyOptions {
  path?: string
}

/** One side of a changed span. Lines count from 1. */
export interface Extent {
  startLine: number
  /** `startLine - 1` where it covers none. */
  endLine: number
  /** In bytes of the file; for a string, of its UTF-8. */
  startByte: number
  endByte: number
}

export interface Span {
  before: Extent
  after: Extent
}

/** The strings that an edit really used. */
export interface Corrected {
  oldStr: string
  newStr: string
}

/** A line of the call beside the line of the file, white space made visible. */
export interface Difference {
  line: number
  oldLine: number
  expected: string
  found: string
}

/** A place that is near to what the call asked for. */
export interface Near {
  startLine: number
  endLine: number
  score: number
  firstDifference: Difference | null
}

/** One of several texts that the call can mean. */
export interface Outcome {
  how: string
  diff: string
}

/** Lines that the call rewrites, and that the file has otherwise. */
export interface Conflict {
  startLine: number
  endLine: number
  believed: string
  found: string
  written?: string
}

/** One attempt to correct a call by a model. */
export interface Attempt {
  ask: string
  outcome: string
  detail: string
}

/** A text after an edit, and how the call was understood. */
export declare class Applied<T extends string | Uint8Array = string> {
  private constructor()
  readonly ok: true
  readonly text: T
  /** Which rung of the ladder matched; `exact` where nothing had to be forgiven. */
  readonly rung: string
  readonly rewrites: string[]
  readonly replacements: number
  readonly warnings: string[]
  readonly spans: Span[]
  readonly corrected: Corrected | null
  readonly diff: string
  unwrap(): this
}

/** A file after an edit. */
export declare class Edited {
  private constructor()
  readonly ok: true
  readonly path: string
  readonly rung: string
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

/** Lines of a file, as a model shall see them. */
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

/** An edit that did not happen. Nothing was written. */
export declare class Refused {
  private constructor()
  readonly ok: false
  /** Stable: `EDIT_NO_OCCURRENCE_FOUND`, `EDIT_AMBIGUOUS`, … */
  readonly code: string
  readonly message: string
  /** What to do next. */
  readonly hint: string | null
  /** All of it for a model: cause, nearest place, next step. */
  readonly text: string
  readonly nearest: Near[]
  readonly occurrences: number[]
  readonly outcomes: Outcome[]
  readonly conflicts: Conflict[]
  readonly attempts: Attempt[]
  readonly path?: string
  /** Throws a `RefusedError`. */
  unwrap(): never
}

export declare class RefusedError extends Error {
  constructor(refused: Refused)
  readonly refused: Refused
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
  /** The bytes and what tells this version from any other; `null` where there is no file. */
  load(path: string): Promise<Loaded | null> | Loaded | null
  /** Writes (`null` removes) if the version there is `version`; `null`: there is no file yet. Answers whether it is written. */
  storeIf(path: string, bytes: Buffer | null, version: string | null): Promise<boolean> | boolean
}

export interface Loaded {
  bytes: Buffer
  version: string
}

/** What a model is asked. */
export interface Question {
  system: string
  prompt: string
  schemaName: string
  /** JSON schema of the answer, in the strict subset. */
  schema: Record<string, unknown>
  maxTokens: number
  /** Seconds that are left for this call. */
  timeout: number
}

/** Answers a question with the JSON that its schema asks for. */
export type Model = (question: Question) => Promise<string> | string

export interface FolderOptions {
  /** The folder; nothing outside it is touched. */
  root: string
  /** The folder for history and journals; by default the one of the command. */
  state?: string
  /** Protected paths that may be written all the same. */
  allowProtected?: string[]
  model?: Model
}

export interface StoreOptions {
  store: Store
  /** What absolute paths are read as below of. */
  root?: string
  model?: Model
}

export type EngineOptions = FolderOptions | StoreOptions

export type Format = 'openai' | 'openai-responses' | 'anthropic' | 'gemini' | 'mcp'

/** What a tool answers. */
export interface Reply {
  ok: boolean
  code: string | null
  /** The text for a model. */
  message: string
  report: Record<string, any>
}

export interface CallOptions {
  /** Decide and report, but write nothing. */
  dryRun?: boolean
  /** The same id again answers with the first result. */
  requestId?: string
}

/** Edits files below a root, or in a store. One engine is one session. */
export declare class Engine {
  constructor(options: string | EngineOptions)
  /** Runs a tool as a model calls it: any of `tools()`, also by the names of other agents. */
  call(name: string, args: Record<string, unknown> | string, options?: CallOptions): Promise<Reply>
  /** The tools as that interface wants them declared. */
  tools(format?: Format): Record<string, any>[]
  /** Replaces `old` by `new_` in a file; an empty `old` creates it. */
  edit(path: string, old: string, new_: string, options?: EditOptions & { dryRun?: boolean }): Promise<Edited | Refused>
  /** Reads a file or some of its lines. */
  read(path: string, options?: { offset?: number; limit?: number; style?: 'plain' | 'numbered' | 'hashline' }): Promise<ReadText | Refused>
  /** Takes back the last edit of this engine, or the one with this revision. */
  undo(revision?: number): Promise<Undone | Refused>
}

/** A tool as the `ai` SDK and Mastra take it. */
export interface AgentTool {
  description: string
  inputSchema: any
  execute(input: any): Promise<string>
}

/** The tools for the Vercel `ai` SDK and for Mastra: `tools: tools({ root: '.' })`. */
export declare function tools(options: Engine | (EngineOptions & { tools?: string[] })): Record<string, AgentTool>

export declare const version: string
