import { KnownProblem } from '#domain/errors.ts';
import type { Command } from '#platform/commands/command.ts';

/** What a build of ffmpeg can do, by its own names. */
export interface Abilities {
  readonly filters: ReadonlySet<string>;
  readonly encoders: ReadonlySet<string>;
}

/** What the commands of this folder and of the handlers ask of ffmpeg, but for tone mapping. */
const required = {
  filters: words(
    'aformat apad aresample atrim bwdif format fps metadata palettegen paletteuse pan scale setparams setsar sidedata split tpad',
  ),
  encoders: words('aac gif libwebp_anim libx264 png'),
};

/** Without them, HDR is shown as it is, with a warning; the project's own image has them. */
const toneMapping = words('tonemap zscale');

/** Two runs of ffmpeg: parsed by `parseAbilities`. */
export function abilityCommands(program: string): { readonly filters: Command; readonly encoders: Command } {
  const listing = (what: string) => ({ program, args: ['-hide_banner', what] });
  return { filters: listing('-filters'), encoders: listing('-encoders') };
}

/** Takes the second word of each line, such as ` TSC scale   V->V   Scale the input video size.` */
export function parseAbilities(stdout: Readonly<Record<keyof Abilities, string>>): Abilities {
  return { filters: namesIn(stdout.filters), encoders: namesIn(stdout.encoders) };
}

function namesIn(listing: string): ReadonlySet<string> {
  return new Set(listing.split('\n').map((line) => words(line.trim())[1] ?? ''));
}

function words(text: string): string[] {
  return text.split(/\s+/);
}

export function canMapTones({ filters }: Abilities): boolean {
  return toneMapping.every((name) => filters.has(name));
}

/** What is lacking, one line each; `isOwnImage`: tone mapping too. */
export function lacking(abilities: Abilities, { isOwnImage }: { readonly isOwnImage: boolean }): string[] {
  const filters = [...required.filters, ...(isOwnImage ? toneMapping : [])];
  return [
    ...filters.filter((name) => !abilities.filters.has(name)).map((name) => `ffmpeg has no filter ${name}`),
    ...required.encoders.filter((name) => !abilities.encoders.has(name)).map((name) => `ffmpeg has no encoder ${name}`),
  ];
}

/**
 * An image or a laptop may bring an ffmpeg of its own: what it lacks is told by name before any work begins, and not by
 * a tool's log after an hour of decoding.
 *
 * @throws KnownProblem `internal`
 */
export function refuseLacking(abilities: Abilities): void {
  const lines = lacking(abilities, { isOwnImage: false });
  if (lines.length > 0) throw new KnownProblem('internal', `This runner cannot work: ${lines.join(', ')}.`);
}
