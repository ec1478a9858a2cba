declare module 'm3u8-parser' {
  interface Variant {
    readonly uri: string;
    readonly attributes: {
      readonly BANDWIDTH: number;
      readonly 'AVERAGE-BANDWIDTH': string;
      readonly CODECS: string;
      readonly RESOLUTION: { readonly width: number; readonly height: number };
    };
  }

  interface Rendition {
    readonly default: boolean;
    readonly language?: string;
    readonly uri: string;
  }

  /** The part of the package that tests use; it has no types of its own. */
  export class Parser {
    push(text: string): void;
    end(): void;
    readonly manifest: {
      readonly playlists: readonly Variant[];
      readonly mediaGroups: { readonly AUDIO: Readonly<Record<string, Readonly<Record<string, Rendition>>>> };
    };
  }
}
