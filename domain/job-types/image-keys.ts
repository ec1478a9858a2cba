import type { JobResults } from './index.ts';

interface WithImages {
  readonly key?: string;
  readonly outputs?: readonly { readonly key: string }[];
  readonly artifacts?: Readonly<Record<string, { readonly key: string } | null>>;
}

/** The keys of the images that results name, each of which `/thumb` can show; null: none. */
export function imageKeysOf(results: JobResults | null): ReadonlySet<string> {
  const { key, outputs = [], artifacts = {} } = (results ?? {}) as WithImages;
  const others = [...outputs, ...Object.values(artifacts)].flatMap((image) => image?.key ?? []);
  return new Set(key === undefined ? others : [key, ...others]);
}
