//===- Metadata.cpp - The metadata note of a code object ------------------===//
//
// Part of the kimi-mla-gate project, under the Apache License v2.0 with LLVM
// Exceptions. See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Metadata.h"

#include "llvm/BinaryFormat/MsgPackReader.h"

#include <algorithm>

using namespace kimi::emulator;
namespace msgpack = llvm::msgpack;

/// Deeper nesting than a kernel's argument list is no metadata.
constexpr unsigned MaxDepth = 16;

static llvm::Error readNode(msgpack::Reader &reader, unsigned depth,
                            MetadataNode &node) {
  msgpack::Object object;
  llvm::Expected<bool> more = reader.read(object);
  if (!more)
    return more.takeError();
  if (!*more)
    return llvm::createStringError("it ends early");
  auto readAll = [&](size_t count, bool map) -> llvm::Error {
    if (depth == MaxDepth)
      return llvm::createStringError("it is nested too deeply");
    // A wrong length ends in "it ends early" before memory runs out: each
    // element takes at least one byte of the note.
    for (size_t i = 0; i < count; ++i) {
      if (map)
        if (llvm::Error error =
                readNode(reader, depth + 1, node.keys.emplace_back()))
          return error;
      if (llvm::Error error =
              readNode(reader, depth + 1, node.elements.emplace_back()))
        return error;
    }
    return llvm::Error::success();
  };
  switch (object.Kind) {
  case msgpack::Type::Int:
    node.kind = MetadataNode::Integer;
    node.integer = std::clamp<int64_t>(object.Int, 0, UINT32_MAX);
    return llvm::Error::success();
  case msgpack::Type::UInt:
    node.kind = MetadataNode::Integer;
    node.integer = std::min<uint64_t>(object.UInt, UINT32_MAX);
    return llvm::Error::success();
  case msgpack::Type::String:
    node.kind = MetadataNode::String;
    node.string = object.Raw.str();
    return llvm::Error::success();
  case msgpack::Type::Array:
    node.kind = MetadataNode::Array;
    return readAll(object.Length, /*map=*/false);
  case msgpack::Type::Map:
    node.kind = MetadataNode::Map;
    return readAll(object.Length, /*map=*/true);
  default:
    return llvm::Error::success();
  }
}

llvm::Expected<MetadataNode> MetadataNode::read(llvm::StringRef blob) {
  msgpack::Reader reader(blob);
  MetadataNode root;
  if (llvm::Error error = readNode(reader, 0, root))
    return error;
  return root;
}

const MetadataNode *MetadataNode::find(llvm::StringRef key) const {
  for (size_t i = 0; i < keys.size(); ++i)
    if (keys[i].kind == String && keys[i].string == key)
      return &elements[i];
  return nullptr;
}

uint32_t MetadataNode::getInteger(llvm::StringRef key) const {
  const MetadataNode *node = find(key);
  return node && node->kind == Integer ? node->integer : 0;
}
