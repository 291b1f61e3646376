"""Message and tool content on its way into telemetry; nothing of it is used unless somebody switched it on."""
