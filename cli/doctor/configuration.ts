import { access, constants } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runCommand } from '#platform/commands/run-command.ts';
import { missingFolders } from '#platform/config/missing-folders.ts';
import { type Check, fault, type Ground, warning } from './check.ts';

// What is found without another server: the variables, folders, and the tools of the runner.

const configuration: Check = {
  name: 'configuration',
  needs: [],
  run: async ({ loaded }) =>
    'faults' in loaded
      ? loaded.faults.map((each) => {
          const page = 'docs/reference/configuration.md';
          const variable = /^[A-Z][A-Z0-9_]+/.exec(each)?.[0];
          return fault(each, variable === undefined ? page : `set ${variable}: ${page}`);
        })
      : [],
};

const spelling: Check = {
  name: 'spelling',
  needs: ['configuration'],
  run: async ({ loaded }) =>
    ('misspelt' in loaded ? loaded.misspelt : []).map(({ variable, nearest }) =>
      fault(`${variable}: is not a known variable`, `rename it to ${nearest}, or remove it`),
    ),
};

const folders: Check = {
  name: 'folders',
  needs: ['configuration'],
  run: async ({ config }) => {
    const missing = await missingFolders(config);
    const findings = missing.map((each) => fault(each, 'make the folder, or correct the variable'));
    const isUsed = config.mode !== 'server' && config.kubernetes === null;
    const isWritable = !isUsed || (await access(config.workDir, constants.W_OK | constants.X_OK).then(yes, no));
    const remedy = 'make the folder, or give this user the right to write there';
    return isWritable ? findings : [...findings, fault(`WORK_DIR: cannot be written: ${config.workDir}`, remedy)];
  },
};

const yes = () => true;
const no = () => false;

/** Only the process executor runs them here; the image of the runner was checked when it was built. */
const tools: Check = {
  name: 'tools',
  needs: ['configuration'],
  unless: ({ config }) => (runsTools(config) ? null : 'the tools are in the image of the runner'),
  run: async ({ config, env, signal }) => {
    const script = fileURLToPath(new URL('../../runner/main.ts', import.meta.url));
    const isThere = await access(script).then(yes, no);
    if (!isThere) return [fault('this image has no runner', 'set EXECUTOR=kubernetes, or run a checkout')];
    const named = {
      FFMPEG_PATH: config.ffmpegPath,
      FFPROBE_PATH: config.ffprobePath,
      PACKAGER_PATH: config.packagerPath,
    };
    const given = Object.entries(named).flatMap(([name, value]) => (value === null ? [] : [[name, value]]));
    const { exitCode, stderrTail } = await runCommand(
      { program: process.execPath, args: [script, 'check'] },
      {
        timeoutMs: 50_000,
        signal,
        cwd: dirname(join(script, '..')),
        env: { PATH: env['PATH'] ?? '', ...(Object.fromEntries(given) as Record<string, string>) },
      },
    );
    if (exitCode === 0) return [];
    const lines = stderrTail.split('\n').filter((line) => line.trim() !== '');
    return lines.map((line) => toolFinding(line.replace(/^Error: /, '')));
  },
};

/** HDR is shown unmapped without these, and everything else works. */
const optional = /has no filter (?:tonemap|zscale)\b/;

function toolFinding(line: string) {
  if (optional.test(line)) return warning(line, 'HDR sources come out pale; install an ffmpeg with libzimg');
  return fault(line, 'install it, or name another in FFMPEG_PATH, FFPROBE_PATH or PACKAGER_PATH');
}

function runsTools({ mode, executor }: Ground['config']): boolean {
  return mode !== 'server' && executor === 'process';
}

export const configurationChecks: readonly Check[] = [configuration, spelling, folders, tools];
