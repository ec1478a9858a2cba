import { KnownProblem } from '#domain/errors.ts';
import { type VideoCodec, videoCodecs } from '#domain/media/profiles.ts';
import type { Command } from '#platform/commands/command.ts';
import type { StepContext } from '../context/step-context.ts';
import { probeTimeoutMs, runTool } from './run-tool.ts';

/** Filters and encoders of a build of ffmpeg, by ffmpeg's names. */
export interface Abilities {
  readonly filters: ReadonlySet<string>;
  readonly encoders: ReadonlySet<string>;
}

/** Used by the commands of this folder and of the handlers, tone mapping aside. */
const required = {
  filters: words(
    'aeval aformat apad aresample asetnsamples atrim bwdif ebur128 format fps hflip metadata palettegen paletteuse pan scale select setparams setsar showwavespic sidedata split tpad transpose trim vflip',
  ),
  encoders: words('aac gif libwebp_anim libx264 png'),
};

/** Without them, HDR is shown unmapped, with a warning; the project's own image has them. */
const toneMapping = words('tonemap zscale');

/** The two commands whose output `parseAbilities` reads. */
export function abilityCommands(program: string): { readonly filters: Command; readonly encoders: Command } {
  const listing = (what: string) => ({ program, args: ['-hide_banner', what] });
  return { filters: listing('-filters'), encoders: listing('-encoders') };
}

/** Reads the second word of each line, such as ` TSC scale   V->V   Scale the input video size.` */
export function parseAbilities(stdout: Readonly<Record<keyof Abilities, string>>): Abilities {
  return { filters: namesIn(stdout.filters), encoders: namesIn(stdout.encoders) };
}

function namesIn(listing: string): ReadonlySet<string> {
  return new Set(listing.split('\n').map((line) => words(line.trim())[1] ?? ''));
}

function words(text: string): string[] {
  return text.split(/\s+/);
}

/** Whether this ffmpeg can map HDR to SDR. */
export function canMapTones({ filters }: Abilities): boolean {
  return toneMapping.every((name) => filters.has(name));
}

/** Encoders of this ffmpeg for rungs of a profile; H.264's is required. */
const encodersOf = { h264: 'libx264', hevc: 'libx265', av1: 'libsvtav1' } as const satisfies Record<VideoCodec, string>;

/** The codecs that this ffmpeg can encode. */
export function codecsOf({ encoders }: Abilities): VideoCodec[] {
  return videoCodecs.filter((codec) => encoders.has(encodersOf[codec]));
}

/** Lists what is missing, one line each; with `isOwnImage`, tone mapping is required too. */
export function missingAbilities(abilities: Abilities, { isOwnImage }: { readonly isOwnImage: boolean }): string[] {
  const filters = [...required.filters, ...(isOwnImage ? toneMapping : [])];
  return [
    ...filters.filter((name) => !abilities.filters.has(name)).map((name) => `ffmpeg has no filter ${name}`),
    ...required.encoders.filter((name) => !abilities.encoders.has(name)).map((name) => `ffmpeg has no encoder ${name}`),
  ];
}

/** Whether the `vmaf` of this runner can measure VMAF. */
export async function canMeasureVmaf(context: StepContext): Promise<boolean> {
  return (await readAbilities(context, 'vmaf')).filters.has('libvmaf');
}

/** Asks the ffmpeg of this runner for its abilities. */
export async function readAbilities(context: StepContext, tool: 'ffmpeg' | 'vmaf' = 'ffmpeg'): Promise<Abilities> {
  const { filters, encoders } = abilityCommands(context.program(tool));
  const failure = { code: 'internal', message: 'ffmpeg does not list its filters and encoders.' } as const;
  const run = async (command: Command) =>
    (await runTool(command, { timeoutMs: probeTimeoutMs, failure }, context)).stdout;
  const [listedFilters, listedEncoders] = await Promise.all([run(filters), run(encoders)]);
  return parseAbilities({ filters: listedFilters, encoders: listedEncoders });
}

/** Whether the ffmpeg of this runner has a decoder. */
export async function hasDecoder(name: string, context: StepContext): Promise<boolean> {
  const failure = { code: 'internal', message: 'ffmpeg does not list its decoders.' } as const;
  const command = { program: context.program('ffmpeg'), args: ['-hide_banner', '-decoders'] };
  return namesIn((await runTool(command, { timeoutMs: probeTimeoutMs, failure }, context)).stdout).has(name);
}

/** libavcodec of ffmpeg 7.1, the first that filters the packets of an input. */
const inputFiltersFrom = { major: 61, minor: 19 };

/** Reads the line of `ffmpeg -version` about libavcodec: whether `-bsf` may stand before an input. */
export function filtersInputs(version: string): boolean {
  const [, major = 0, minor = 0] = (/^libavcodec\s+(\d+)\.\s*(\d+)\./m.exec(version) ?? []).map(Number);
  return major > inputFiltersFrom.major || (major === inputFiltersFrom.major && minor >= inputFiltersFrom.minor);
}

/** Whether the ffmpeg of this runner filters the packets of an input. */
export async function canFilterInputs(context: StepContext): Promise<boolean> {
  const failure = { code: 'internal', message: 'ffmpeg does not print its version.' } as const;
  const command = { program: context.program('ffmpeg'), args: ['-hide_banner', '-version'] };
  return filtersInputs((await runTool(command, { timeoutMs: probeTimeoutMs, failure }, context)).stdout);
}

/**
 * Refuses an ffmpeg that lacks something before any work begins. A custom image or a laptop may have its own ffmpeg,
 * with which a job would fail after an hour of decoding.
 *
 * @throws KnownProblem `internal`
 */
export function refuseMissingAbilities(abilities: Abilities): void {
  const lines = missingAbilities(abilities, { isOwnImage: false });
  if (lines.length > 0) throw new KnownProblem('internal', `This runner cannot work: ${lines.join(', ')}.`);
}
