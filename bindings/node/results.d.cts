// The results of `apply` and `applyMany`, shared by the native addon and WebAssembly.

/** Options of an edit. */
export interface EditOptions {
  /** Replace every occurrence. */
  replaceAll?: boolean
  /** How often `old` must occur; all occurrences are replaced. Once by default. */
  expected?: number
  /** A line near the text, to choose among several occurrences. */
  nearLine?: number
}

/** The stable codes of refusals. */
export type Code =
  | 'EDIT_NO_OCCURRENCE_FOUND'
  | 'EDIT_EXPECTED_OCCURRENCE_MISMATCH'
  | 'EDIT_NO_CHANGE'
  | 'EDIT_ALREADY_APPLIED'
  | 'EDIT_INVALID_PATH'
  | 'EDIT_FILE_NOT_FOUND'
  | 'EDIT_FILE_READ_ERROR'
  | 'EDIT_FILE_WRITE_ERROR'
  | 'ATTEMPT_TO_CREATE_EXISTING_FILE'
  | 'EDIT_CONFLICT'
  | 'EDIT_AMBIGUOUS'
  | 'EDIT_STALE_ANCHOR'
  | 'EDIT_NOT_TEXT'
  | 'EDIT_TOO_LARGE'
  | 'EDIT_OVERLAP'
  | 'EDIT_OMISSION'
  | 'EDIT_SYNTAX'
  | 'EDIT_BLOCKED'
  | 'EDIT_UNENCODABLE'
  | 'EDIT_INVALID_ARGUMENTS'

/** What had to be forgiven for a call to match. */
export type Rung =
  | 'exact'
  | 'line_endings'
  | 'unescaped'
  | 'line_numbers'
  | 'diff_markers'
  | 'code_fence'
  | 'html_entities'
  | 'outer_blank_lines'
  | 'trailing_blanks'
  | 'look_alikes'
  | 'indentation'
  | 'look_alikes_and_indentation'
  | 'blank_lines'
  | 'spacing'
  | 'punctuation'
  | 'reflowed'
  | 'elided'
  | 'aligned'
  | 'model'
  | 'carried'
  | 'create'
  | 'delete'
  | 'rename'
  | 'move'
  | 'undo'
  | 'repeated'
  | 'staged'
  | 'init'

/** One replacement of text by text. */
export interface Edit extends EditOptions {
  old: string
  new: string
}

/** One side of a changed span. Lines are counted from 1. */
export interface Extent {
  startLine: number
  /** `startLine - 1` if this side is empty. */
  endLine: number
  /** In bytes of the file; for a string, of its UTF-8. */
  startByte: number
  endByte: number
}

export interface Span {
  before: Extent
  after: Extent
}

/** The strings that were used in place of those that were sent. */
export interface Corrected {
  oldStr: string
  newStr: string
}

/** A line of the call and the line of the file, with whitespace made visible. */
export interface Difference {
  line: number
  oldLine: number
  expected: string
  found: string
}

/** Lines of the file that are similar to `old`. */
export interface Near {
  startLine: number
  endLine: number
  score: number
  firstDifference: Difference | null
}

/** One of several possible results of a call. */
export interface Outcome {
  how: string
  diff: string
}

/** Lines that the call changes, and that differ in the file from what the call assumed. */
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
  /** The rung of the ladder that matched; `exact` if nothing had to be forgiven. */
  readonly rung: Rung
  readonly rewrites: string[]
  readonly replacements: number
  readonly warnings: string[]
  readonly spans: Span[]
  readonly corrected: Corrected | null
  readonly diff: string
  unwrap(): this
}

/** An edit that did not happen. Nothing was written. */
export declare class Refused {
  private constructor()
  readonly ok: false
  /** Stable: `EDIT_NO_OCCURRENCE_FOUND`, `EDIT_AMBIGUOUS`, … */
  readonly code: Code
  /** What is wrong, in one sentence. */
  readonly reason: string
  /** What to do next. */
  readonly hint: string | null
  /** The text for a model: the cause, the nearest lines, the next step. */
  readonly message: string
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
