/** What the parts of this folder need of a logger; pino's has this shape. */
export interface Log {
  warn(fields: Record<string, unknown>, message: string): void;
  error(fields: Record<string, unknown>, message: string): void;
}
