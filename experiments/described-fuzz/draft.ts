/** The kinds of callers; `full` may do everything. */
export type Caller = "full" | "none" | "malformed" | "expired" | "foreign key" | "no scope" | "no tenant";

/** A body as it is sent. */
export interface Body {
  readonly type: string | undefined;
  readonly bytes: Buffer;
}

/** A request that twists may still change. */
export interface Draft {
  method: string;
  /** The segments of the path, encoded. */
  segments: string[];
  /** Names and values of the query, encoded. */
  query: (readonly [name: string, value: string])[];
  headers: Record<string, string>;
  caller: Caller;
  /** The JSON of the body; undefined for none. */
  json: unknown;
  /** A body in place of the JSON. */
  raw: Body | undefined;
  /** Whether method and path still belong to the operation. */
  isAddressed: boolean;
}
