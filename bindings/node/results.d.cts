// What the pure function answers, the same over the addon and over WebAssembly.

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
