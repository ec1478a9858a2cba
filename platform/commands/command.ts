/** A command is data: what to run, pure and comparable. */
export interface Command {
  /** A path or a name on PATH. */
  readonly program: string;
  readonly args: readonly string[];
  /** Values that are masked wherever the command, or what it says, is shown. */
  readonly secrets?: readonly string[];
}

/** The command as one would type it in a shell, its secrets masked. */
export function showCommand(command: Command): string {
  const secrets = command.secrets ?? [];
  return [command.program, ...command.args].map((word) => quote(mask(word, secrets))).join(' ');
}

/** `text` without any of `secrets`. */
export function mask(text: string, secrets: readonly string[]): string {
  // The longest first: one secret may be part of another.
  const byLength = secrets.filter((secret) => secret !== '').toSorted((a, b) => b.length - a.length);
  return byLength.reduce((masked, secret) => masked.replaceAll(secret, '***'), text);
}

function quote(word: string): string {
  return /^[\w@%+=:,./*-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
