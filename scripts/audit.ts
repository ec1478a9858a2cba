import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

// `make audit`: the licences of the packages that are installed, and the known holes of those that the service runs
// with. The licences need no network.

/** The licenses that may be part of a work under Apache-2.0, or stand beside it (NOTICE). */
const allowed = new Set(
  `0BSD Apache-2.0 BlueOak-1.0.0 BSD BSD-2-Clause BSD-3-Clause CC0-1.0 ISC LGPL-3.0-or-later MIT MPL-2.0 PSF-2.0
   Python-2.0 Unlicense`.split(/\s+/),
);
/** Its licence is in a file: BSD-3-Clause. */
const licenceInFile = ['shaka-packager'];
/** Data under CC-BY-4.0, of the tool that `make mutate` parses code with. Allowed where it serves development alone. */
const dataOfTools = ['caniuse-lite'];
/** Programs that tests and the demo start: no image holds them. */
const onlyStarted = /^(?:ffmpeg-static|@ffprobe-installer\/)/;

const packageSchema = z.object({
  license: z.union([z.string(), z.object({ type: z.string() })]).optional(),
  licenses: z.array(z.object({ type: z.string() })).optional(),
});

/** Whether an SPDX expression, as npm has them, leaves a choice that is allowed. */
export function isAllowed(licence: string): boolean {
  const choices = licence.replaceAll(/[()]/g, '').split(' OR ');
  return choices.some((choice) => choice.split(' AND ').every((each) => allowed.has(each)));
}

/** The packages whose licence is not allowed, with it. */
export function refusedLicences(root: string): string[] {
  const lock = JSON.parse(readFileSync(join(root, 'node_modules/.package-lock.json'), 'utf8')) as {
    packages: Readonly<Record<string, { readonly dev?: boolean }>>;
  };
  return Object.entries(lock.packages).flatMap(([path, { dev = false }]) => {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    if (licenceInFile.includes(name) || onlyStarted.test(name) || (dev && dataOfTools.includes(name))) return [];
    const { license, licenses = [] } = packageSchema.parse(
      JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8')),
    );
    const stated = typeof license === 'string' ? license : license?.type;
    const licence = stated ?? (licenses.map(({ type }) => type).join(' OR ') || 'none');
    return isAllowed(licence) ? [] : [`${name}: ${licence}`];
  });
}

const reportSchema = z.object({ metadata: z.object({ vulnerabilities: z.record(z.string(), z.number()) }) });

/** The number of high and critical holes by the output of `npm audit --json`; null where the registry does not know. */
export function holesIn(json: string): number | null {
  try {
    const { vulnerabilities } = reportSchema.parse(JSON.parse(json)).metadata;
    return (vulnerabilities['high'] ?? 0) + (vulnerabilities['critical'] ?? 0);
  } catch {
    return null;
  }
}

async function main(): Promise<number> {
  const refused = refusedLicences(join(import.meta.dirname, '..'));
  process.stdout.write(refused.length === 0 ? 'licences: all allowed\n' : `licences: ${refused.join(', ')}\n`);
  const args = ['audit', '--json', '--omit=dev'];
  const json = await new Promise<string>((resolve) => {
    execFile('npm', args, { timeout: 60_000, maxBuffer: 2 ** 26 }, (_, stdout) => resolve(stdout));
  });
  const holes = holesIn(json);
  const unknown = 'not known: the registry has no audit endpoint, or cannot be reached';
  process.stdout.write(`high and critical holes: ${holes ?? unknown}\n`);
  return refused.length + (holes ?? 0) === 0 ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
