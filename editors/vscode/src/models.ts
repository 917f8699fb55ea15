/** The table of `draftline models list`. */

export interface Model {
  readonly name: string;
  readonly download: string;
  readonly licence: string;
  readonly isPulled: boolean;
}

/** The rows; columns are found by their headings, and stand at least two spaces apart.
 *
 * The size of a download that was broken off is followed by a comma and a word.
 */
export function parseModels(table: string): Model[] {
  const [heading, ...rows] = table.split(/\r?\n/).filter((line) => line.trim() !== "");
  const columns = cells(heading ?? "");
  const at = (row: string[], column: string) => row[columns.indexOf(column)] ?? "";
  return rows.map(cells).map((row) => ({
    name: at(row, "name"),
    download: at(row, "download"),
    licence: at(row, "licence"),
    isPulled: /^\d[^,]*$/.test(at(row, "pulled")),
  }));
}

function cells(line: string): string[] {
  return line.trim().split(/ {2,}/);
}
