/** Formats rows as aligned columns. Truncates lines that are longer than `width`. */
export function columns(rows: readonly (readonly string[])[], width: number): string {
  const last = Math.max(...rows.map((row) => row.length)) - 1;
  const widths = Array.from({ length: last }, (_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (row: readonly string[]): string => {
    const text = row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
    return text.length > width ? `${text.slice(0, width - 3)}...` : text;
  };
  return `${rows.map(line).join("\n")}\n`;
}

/** Puts an untrusted string on one line, without control characters that move the cursor. */
export function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/\p{Cc}/gu, "");
}
