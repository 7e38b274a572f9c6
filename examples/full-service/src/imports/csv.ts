/** One row of a file. */
export interface CsvRecord {
  /** The number of its first line, from 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

/** Parses a CSV text in chunks. */
export interface CsvReader {
  /** @returns the rows that are complete so far. @throws CsvError */
  push(text: string): CsvRecord[];
  /** @returns the last row if it has no line end. @throws CsvError */
  end(): CsvRecord[];
}

/** A malformed CSV text, with the line of the fault. */
export class CsvError extends Error {
  override readonly name = "CsvError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

type State = "start" | "plain" | "quoted" | "closed";

/**
 * Creates a reader of comma-separated values as in RFC 4180: quoted fields may contain commas, line ends and doubled
 * quotes; lines end in LF or CR LF. Empty lines are skipped. It keeps at most one row in memory.
 *
 * @param maxRecordLength maximum length of a row in UTF-16 units. Default: 8,192
 */
export function createCsvReader({ maxRecordLength = 8192 } = {}): CsvReader {
  let state: State = "start";
  let afterReturn = false;
  let fields: string[] = [];
  let field = "";
  let length = 0;
  let line = 1;
  let firstLine = 1;
  let complete: CsvRecord[] = [];

  function endField(): void {
    fields.push(field);
    field = "";
    state = "start";
  }

  function endRecord(): void {
    if (fields.length > 0 || state !== "start") {
      endField();
      complete.push({ line: firstLine, fields });
    }
    fields = [];
    state = "start";
    length = 0;
  }

  function endLine(): void {
    endRecord();
    line += 1;
    firstLine = line;
  }

  function take(character: string): void {
    length += 1;
    if (length > maxRecordLength) {
      throw new CsvError(
        firstLine,
        `is longer than ${maxRecordLength} characters, or a quote is never closed`,
      );
    }
    if (character === "\0") throw new CsvError(line, "contains NUL");
    if (afterReturn && character !== "\n")
      throw new CsvError(line, "has a carriage return without a line feed after it");
    afterReturn = false;
    if (state === "quoted") {
      if (character === '"') state = "closed";
      else {
        if (character === "\n") line += 1;
        field += character;
      }
    } else if (character === "\n") endLine();
    else if (character === "\r") afterReturn = true;
    else if (character === ",") endField();
    else if (character !== '"') {
      if (state === "closed") throw new CsvError(line, "has text after a closing quote");
      state = "plain";
      field += character;
    } else if (state === "plain")
      throw new CsvError(line, "has a quote in a field that does not begin with one");
    else {
      // Two quotes within a quoted field stand for one quote.
      if (state === "closed") field += '"';
      state = "quoted";
    }
  }

  function handOver(): CsvRecord[] {
    const all = complete;
    complete = [];
    return all;
  }

  return {
    push(text) {
      for (const character of text) take(character);
      return handOver();
    },
    end() {
      if (state === "quoted") throw new CsvError(firstLine, "has a quote that is never closed");
      endRecord();
      return handOver();
    },
  };
}
