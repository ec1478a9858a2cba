import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import { arch, platform } from 'node:process';
import type { Environment } from '../config/variable.ts';

/**
 * Where a tool of the runner is looked for, in this order: its variable, its npm package, PATH under each of its names,
 * the npm package of last resort. `[package, file in it]`.
 */
interface ToolRow {
  readonly variable: string;
  readonly names: readonly string[];
  readonly packageFirst?: readonly [string, string];
  readonly packageLast?: readonly [string, string];
}

const packagerSystems: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'osx' };

const tools = {
  ffmpeg: { variable: 'FFMPEG_PATH', names: ['ffmpeg'], packageFirst: ['ffmpeg-static', 'ffmpeg'] },
  ffprobe: {
    variable: 'FFPROBE_PATH',
    names: ['ffprobe'],
    packageLast: [`@ffprobe-installer/${platform}-${arch}`, 'ffprobe'],
  },
  // The binary itself: the package's index.js exits with 0 when packaging failed.
  packager: {
    variable: 'PACKAGER_PATH',
    names: ['packager', 'shaka-packager'],
    packageFirst: ['shaka-packager', `bin/packager-${packagerSystems[platform] ?? platform}-${arch}`],
  },
} as const satisfies Record<string, ToolRow>;

/**
 * The tools that a runner's steps run. `vmaf` is an ffmpeg that may have libvmaf, which Debian's lacks: `ffmpeg-vmaf`
 * on PATH, else the same as `ffmpeg`.
 */
export type ToolName = keyof typeof tools | 'vmaf';

/**
 * The path of a tool's program.
 *
 * @param env where `FFMPEG_PATH`, `FFPROBE_PATH`, `PACKAGER_PATH` and `PATH` are read
 * @throws Error of one line that names the variable, when the variable names no program or none is found
 */
export function findProgram(tool: ToolName, env: Environment): string {
  if (tool === 'vmaf') return onPath(['ffmpeg-vmaf'], env).find(isProgram) ?? findProgram('ffmpeg', env);
  const row: ToolRow = tools[tool];
  const configured = env[row.variable];
  if (configured !== undefined && configured !== '') {
    if (isProgram(configured)) return configured;
    throw new Error(`${row.variable} names no program that can be run: ${configured}`);
  }
  const candidates = [inPackage(row.packageFirst), ...onPath(row.names, env), inPackage(row.packageLast)];
  const found = candidates.find((path) => path !== null && isProgram(path));
  if (found === undefined || found === null) {
    throw new Error(`${tool} was not found in node_modules or on PATH: install it or set ${row.variable}`);
  }
  return found;
}

/** Each place on PATH where a program of these names may be. */
function onPath(names: readonly string[], env: Environment): string[] {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  return names.flatMap((name) => folders.map((folder) => join(folder, name)));
}

function inPackage(place: readonly [string, string] | undefined): string | null {
  if (place === undefined) return null;
  try {
    const manifest = createRequire(import.meta.url).resolve(`${place[0]}/package.json`);
    return join(dirname(manifest), place[1]);
  } catch {
    // An optional package that is not installed on this system.
    return null;
  }
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
