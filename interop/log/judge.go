// Judges a log with Go's golang.org/x/mod/sumdb, which is not ours: the signature of its checkpoint, the root, the
// inclusion of every entry, the consistency with every older checkpoint, and files of proofs.
//
//	apt-get install golang-go golang-golang-x-mod-dev
//	GO111MODULE=off GOPATH=/usr/share/gocode go run judge.go FOLDER KEY [CHECKPOINT | PROOF.tlog-proof]...
//
// It prints what it has checked; the exit code is 1 when something is wrong.
package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func fail(format string, values ...interface{}) {
	fmt.Printf(format+"\n", values...)
	os.Exit(1)
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		fail("%v", err)
	}
	return data
}

// open verifies a checkpoint and returns its tree.
func open(data []byte, verifier note.Verifier) tlog.Tree {
	opened, err := note.Open(data, note.VerifierList(verifier))
	if err != nil {
		fail("checkpoint: %v", err)
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[0] != verifier.Name() || lines[3] != "" {
		fail("checkpoint: its text is %q", opened.Text)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || strconv.FormatInt(size, 10) != lines[1] {
		fail("checkpoint: its size is %q", lines[1])
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		fail("checkpoint: %v", err)
	}
	return tlog.Tree{N: size, Hash: root}
}

// folder reads tiles where C2SP tlog-tiles has them: without the height in the path.
type folder string

func (f folder) Height() int { return 8 }

func (f folder) SaveTiles(tiles []tlog.Tile, data [][]byte) {}

func (f folder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var all [][]byte
	for _, tile := range tiles {
		path := strings.Replace(tile.Path(), "tile/8/", "tile/", 1)
		data, err := os.ReadFile(filepath.Join(string(f), path))
		if err != nil {
			return nil, err
		}
		all = append(all, data)
	}
	return all, nil
}

// entries reads all bundles of entries.
func (f folder) entries(size int64) [][]byte {
	var all [][]byte
	for n := int64(0); n*256 < size; n++ {
		width := 256
		if size-n*256 < 256 {
			width = int(size - n*256)
		}
		tile := tlog.Tile{H: 8, L: 0, N: n, W: width}
		path := strings.Replace(tile.Path(), "tile/8/0/", "tile/entries/", 1)
		data := read(filepath.Join(string(f), path))
		for i := 0; i < width; i++ {
			if len(data) < 2 || len(data) < 2+int(data[0])<<8+int(data[1]) {
				fail("%s: it ends within entry %d", path, i)
			}
			length := int(data[0])<<8 + int(data[1])
			all = append(all, data[2:2+length])
			data = data[2+length:]
		}
		if len(data) > 0 {
			fail("%s: %d bytes too many", path, len(data))
		}
	}
	return all
}

// proof verifies a file of C2SP tlog-proof, whose extra data is the entry.
func proof(path string, verifier note.Verifier) {
	parts := strings.SplitN(string(read(path)), "\n\n", 2)
	lines := strings.Split(parts[0], "\n")
	if len(parts) != 2 || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		fail("%s: no proof", path)
	}
	entry, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	if err != nil {
		fail("%s: %v", path, err)
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil {
		fail("%s: %v", path, err)
	}
	var hashes tlog.RecordProof
	for _, line := range lines[3:] {
		hash, err := tlog.ParseHash(line)
		if err != nil {
			fail("%s: %v", path, err)
		}
		hashes = append(hashes, hash)
	}
	tree := open([]byte(parts[1]), verifier)
	if err := tlog.CheckRecord(hashes, tree.N, tree.Hash, index, tlog.RecordHash(entry)); err != nil {
		fail("%s: %v", path, err)
	}
}

func main() {
	if len(os.Args) < 3 {
		fail("usage: judge FOLDER KEY [CHECKPOINT | PROOF.tlog-proof]...")
	}
	log := folder(os.Args[1])
	verifier, err := note.NewVerifier(os.Args[2])
	if err != nil {
		fail("key: %v", err)
	}
	tree := open(read(filepath.Join(os.Args[1], "checkpoint")), verifier)
	reader := tlog.TileHashReader(tree, log)
	entries := log.entries(tree.N)
	// The root, from entries alone.
	var hashes []tlog.Hash
	stored := tlog.HashReaderFunc(func(indexes []int64) ([]tlog.Hash, error) {
		var list []tlog.Hash
		for _, index := range indexes {
			list = append(list, hashes[index])
		}
		return list, nil
	})
	for n, entry := range entries {
		more, err := tlog.StoredHashes(int64(n), entry, stored)
		if err != nil {
			fail("entry %d: %v", n, err)
		}
		hashes = append(hashes, more...)
	}
	root, err := tlog.TreeHash(tree.N, stored)
	if err != nil || tree.N > 0 && root != tree.Hash {
		fail("the entries have the root %v, the checkpoint says %v", root, tree.Hash)
	}
	for n, entry := range entries {
		record, err := tlog.ProveRecord(tree.N, int64(n), reader)
		if err != nil {
			fail("entry %d: %v", n, err)
		}
		if err := tlog.CheckRecord(record, tree.N, tree.Hash, int64(n), tlog.RecordHash(entry)); err != nil {
			fail("entry %d: %v", n, err)
		}
	}
	checkpoints, proofs := 0, 0
	for _, path := range os.Args[3:] {
		if strings.HasSuffix(path, ".tlog-proof") {
			proof(path, verifier)
			proofs++
			continue
		}
		old := open(read(path), verifier)
		checkpoints++
		// Go 0.7.0 proves nothing from an empty tree: there is nothing to prove.
		if old.N == 0 {
			continue
		}
		consistency, err := tlog.ProveTree(tree.N, old.N, reader)
		if err != nil {
			fail("%s: %v", path, err)
		}
		if err := tlog.CheckTree(consistency, tree.N, tree.Hash, old.N, old.Hash); err != nil {
			fail("%s: %v", path, err)
		}
	}
	fmt.Printf("%d entries, %d checkpoints, %d proofs\n", tree.N, checkpoints, proofs)
}
